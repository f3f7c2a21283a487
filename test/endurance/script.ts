/** What the model is asked: the turn of which conversation, and for which time. */
export interface Asked {
	/** The user's message, unique in a programme. */
	readonly tag: string;
	/** Replies that the conversation has since that message. */
	readonly turn: number;
	/** 1 unless this turn was asked before. */
	readonly time: number;
	/** The results of tools since that message. */
	readonly results: readonly string[];
}

export interface Call {
	readonly id: string;
	readonly tool: string;
	/** Its arguments; the intent that it is if they are missing. */
	readonly input?: object;
}

export interface Answer {
	readonly text: string;
	readonly calls: readonly Call[];
}

/**
 * What the model says. A turn that is asked again has the same calls under the same ids, so that one that runs twice is
 * found out, but another text, so that a reader who mixes two attempts is.
 */
export type Script = (asked: Asked) => Answer;

/**
 * Three tools at once, then one more, then the end, each with a text of about that many characters.
 *
 * @param prefix what the names of the tools begin with
 */
export function threeTools(length: number, prefix = ''): Script {
	const tools: readonly (readonly Call['tool'][])[] = [['keyed', 'unsafe', 'lookup'], ['keyed']];
	return ({ tag, turn, time }) => ({
		text: readText({ tag, turn, time }, length),
		calls: (tools[turn] ?? []).map((tool) => ({ id: `${tag}.${turn}.${tool}`, tool: `${prefix}${tool}` })),
	});
}

/** One call of a tool, then the end. */
export function oneCall(tool: Call['tool']): Script {
	return (asked) => ({
		text: readText(asked, 100),
		calls: asked.turn === 0 ? [{ id: `${asked.tag}.${tool}`, tool }] : [],
	});
}

/** One reply of that many characters. */
export function oneReply(length: number): Script {
	return (asked) => ({ text: readText(asked, length), calls: [] });
}

/** Characters of one to four bytes. */
const filler = 'plain text, Füllung, 填充 — and a 🎈. ';

function readText({ tag, turn, time }: Omit<Asked, 'results'>, length: number): string {
	const head = `${tag}, turn ${turn}, attempt ${time}: `;
	const rest = Math.max(0, length - head.length);
	return `${head}${filler.repeat(Math.ceil(rest / filler.length)).slice(0, rest)}.`;
}

/** A text in pieces of about `length`, no character of two code units cut. */
export function* readPieces(text: string, length: number): Generator<string> {
	for (let start = 0; start < text.length; ) {
		const unit = text.charCodeAt(start + length - 1);
		const end = start + length + (unit >= 0xd800 && unit <= 0xdbff ? 1 : 0);
		yield text.slice(start, end);
		start = end;
	}
}
