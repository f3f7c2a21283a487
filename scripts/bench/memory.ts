import type { Plan } from './plan.ts';
import { readMemory } from './process.ts';
import type { Stage } from './stage.ts';
import { durable, type Subject, session } from './subjects.ts';
import { type Bar, toTable } from './table.ts';

const live = 150;
const atOnce = 10;
const replies = 10;
const short: Plan = { tools: 0, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };
/** A reply of 5 MB. */
const long: Plan = { tools: 0, deltas: 1_000, perWrite: 10, paceMs: 0, padding: 5_000 };

/** What workerd holds, in megabytes. */
export interface Memory {
	/** More for each live object of the loop by hand. */
	readonly durable: number;
	/** More for each live session. */
	readonly session: number;
	/** More for each reply of 5 MB that a session stored, and that nobody reads any more. */
	readonly reply: number;
}

export async function measureMemory(stage: Stage): Promise<Memory> {
	const byHand = await openMeter(stage, durable);
	const ours = await openMeter(stage, { ...session, entry: 'scripts/bench/workers/counted.ts' });
	return {
		durable: await byHand.measure(short, live),
		session: await ours.measure(short, live),
		reply: await ours.measure(long, replies),
	};
}

/** Starts a subject that collects its garbage when it is told to. */
async function openMeter({ start }: Stage, subject: Subject) {
	const server = await start(subject, ['--expose-gc']);
	const talk = async (plan: Plan) => (await subject.begin(server.url))(plan);
	const readHeld = async (): Promise<number> => {
		for (let n = 0; n < 3; n++) await (await fetch(`${server.url}/bench/garbage`)).text();
		return readMemory(server.pid) / 1e6;
	};
	return {
		/** What each of so many new conversations adds, right after its run: an object lives ten seconds longer. */
		measure: async (plan: Plan, conversations: number): Promise<number> => {
			// The first ones compile the code, and fill what is kept for all.
			for (let n = 0; n < 3; n++) await talk(plan);
			const before = await readHeld();
			for (let begun = 0; begun < conversations; begun += atOnce)
				await Promise.all(Array.from({ length: atOnce }, () => talk(plan)));
			return ((await readHeld()) - before) / conversations;
		},
	};
}

export function toMemoryTable({ durable: byHand, session: ours, reply }: Memory): string {
	return toTable([
		['memory', 'MB'],
		[`a live object of ${durable.name}`, byHand.toFixed(2)],
		[`a live object of ${session.name}`, ours.toFixed(2)],
		['what a reply of 5 MB leaves', reply.toFixed(2)],
	]);
}

export function listMemoryBars({ session: value, reply }: Memory): readonly Bar[] {
	return [
		{ what: 'a live session', value, unit: 'MB', most: 0.9 },
		{ what: 'what a reply of 5 MB leaves', value: reply, unit: 'MB', most: 0.9 },
	];
}
