/** A request to the model: the turn of a conversation, and its repetition. */
export interface Asked {
	/** The user's message, unique in a programme. */
	readonly tag: string;
	/** Replies in the conversation since the message. */
	readonly turn: number;
	/** How often the turn was requested, with this request. */
	readonly time: number;
	/** Results of tools since the message. */
	readonly results: readonly string[];
}

export interface Call {
	readonly id: string;
	readonly tool: string;
	/** Its arguments. Default: an intent. */
	readonly input?: object;
}

export interface Answer {
	readonly text: string;
	readonly calls: readonly Call[];
}

/**
 * Returns the model's answer. A repeated turn has the same calls with the same ids, so that a repeated call is
 * detected. A repeated turn has another text, so that a reader that mixes two attempts is detected.
 */
export type Script = (asked: Asked) => Answer;

/**
 * Calls three tools at once, then one more tool, then ends. Each turn has a text of about `length` characters.
 *
 * @param prefix the prefix of the tools' names
 */
export function threeTools(length: number, prefix = ''): Script {
	const tools: readonly (readonly Call['tool'][])[] = [['keyed', 'unsafe', 'lookup'], ['keyed']];
	return ({ tag, turn, time }) => ({
		text: readText({ tag, turn, time }, length),
		calls: (tools[turn] ?? []).map((tool) => ({ id: `${tag}.${turn}.${tool}`, tool: `${prefix}${tool}` })),
	});
}

/** Calls a tool once, then ends. */
export function oneCall(tool: Call['tool']): Script {
	return (asked) => ({
		text: readText(asked, 100),
		calls: asked.turn === 0 ? [{ id: `${asked.tag}.${tool}`, tool }] : [],
	});
}

/** Makes one reply of `length` characters. */
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

/** Cuts a text into pieces of about `length`, never inside a surrogate pair. */
export function* readPieces(text: string, length: number): Generator<string> {
	for (let start = 0; start < text.length; ) {
		const unit = text.charCodeAt(start + length - 1);
		const end = start + length + (unit >= 0xd800 && unit <= 0xdbff ? 1 : 0);
		yield text.slice(start, end);
		start = end;
	}
}
