import * as v from 'valibot';

/** What the model does. The user's message carries it as text, so the model keeps no state. */
const plan = v.object({
	/** Turns with one call of a tool each, before the last turn. */
	tools: v.number(),
	/** Pieces of text in each turn. */
	deltas: v.number(),
	/** Pieces that go out in one write. */
	perWrite: v.number(),
	/** The pause between two writes, in milliseconds; 0 for no pause. */
	paceMs: v.number(),
	/** Characters that are added to each piece. */
	padding: v.optional(v.number(), 0),
});

export type Plan = v.InferOutput<typeof plan>;

export function writePlan(given: v.InferInput<typeof plan>): string {
	return JSON.stringify(given);
}

/** Parses the text of a user's message. Returns nothing for any other text. */
export function parsePlan(text: string): Plan | undefined {
	if (!text.startsWith('{"tools"')) return undefined;
	return v.parse(plan, JSON.parse(text));
}

/** Writes a piece of a reply: its number in the run, and its time of departure in microseconds of the machine's clock. */
export function writePiece(index: number, padding: number): string {
	return `${index}@${readClock()}${'.'.repeat(padding)} `;
}

/** Microseconds of the machine's clock, which all processes share. */
export function readClock(): number {
	return Number(process.hrtime.bigint() / 1_000n);
}
