import {
	type Entry,
	foldLines,
	maxDepth,
	type Node,
	toBreaks,
	toMap,
	toScalar,
	toText,
	trimBlanks,
	trimBlanksEnd,
} from './node.ts';

/** A value that begins with a quote or a bracket, and the offset behind it; or what is wrong with it. */
export type Flow =
	| { readonly ok: true; readonly node: Node; readonly end: number }
	| { readonly ok: false; readonly message: string; readonly at: number };

/**
 * Reads a value in quotes or brackets, which may go over several lines. `indent` is that of the line of its key: further
 * lines are indented more, but a closing bracket may stand below the key.
 */
export function readFlow(text: string, at: number, indent: number): Flow {
	const reader = new FlowReader(text, at, indent);
	const node = reader.read(0);
	return reader.problem === undefined ? { ok: true, node, end: reader.at } : { ok: false, ...reader.problem };
}

const escapes: Readonly<Record<string, string>> = {
	'0': '\0',
	a: '\x07',
	b: '\b',
	t: '\t',
	'\t': '\t',
	n: '\n',
	v: '\v',
	f: '\f',
	r: '\r',
	e: '\x1b',
	' ': ' ',
	'"': '"',
	'/': '/',
	'\\': '\\',
	N: '\u0085',
	_: '\u00a0',
	L: '\u2028',
	P: '\u2029',
};
const digits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

const nothing: Node = { value: null, text: '' };

class FlowReader {
	at: number;
	problem: { readonly message: string; readonly at: number } | undefined;
	readonly #text: string;
	readonly #indent: number;

	constructor(text: string, at: number, indent: number) {
		this.#text = text;
		this.at = at;
		this.#indent = indent;
	}

	read(depth: number): Node {
		if (depth > maxDepth) return this.#fail('It is nested too deep');
		const sign = this.#text[this.at];
		if (sign === '"') return toText(this.#readDouble());
		if (sign === "'") return toText(this.#readSingle());
		if (sign === '[') return this.#readList(depth);
		return sign === '{' ? this.#readMap(depth) : toScalar(this.#readPlain());
	}

	/** Says what is wrong, and ends the reading. */
	#fail(message: string, at = this.at): Node {
		this.problem ??= { message, at };
		this.at = this.#text.length;
		return nothing;
	}

	#readList(depth: number): Node {
		const items: unknown[] = [];
		this.at++;
		while (!this.#isClosed(']')) {
			items.push(this.read(depth + 1).value);
			this.#expectComma(']');
		}
		return { value: items };
	}

	#readMap(depth: number): Node {
		const entries = new Map<string, Entry>();
		this.at++;
		while (!this.#isClosed('}')) {
			const { at } = this;
			const sign = this.#text[at];
			const key = sign === '"' ? this.#readDouble() : sign === "'" ? this.#readSingle() : this.#readPlain();
			this.#skip();
			let node = nothing;
			if (this.#text[this.at] === ':') {
				this.at++;
				this.#skip();
				if (!/[,}]/.test(this.#text[this.at] ?? '')) node = this.read(depth + 1);
			}
			if (entries.has(key)) this.#fail(`The key ${key} stands twice`, at);
			entries.set(key, { ...node, line: this.#text.slice(0, at).split('\n').length });
			this.#expectComma('}');
		}
		return toMap(entries);
	}

	/** Goes to the next item. Whether there is none. */
	#isClosed(bracket: string): boolean {
		this.#skip();
		if (this.#text[this.at] === bracket) {
			this.at++;
			return true;
		}
		if (this.at >= this.#text.length) this.#fail(`${bracket} is missing`);
		return this.problem !== undefined;
	}

	#expectComma(bracket: string): void {
		this.#skip();
		const sign = this.#text[this.at];
		if (sign === ',') this.at++;
		else if (sign !== bracket) this.#fail(`${bracket} or a comma is missing`);
	}

	/** Skips blanks, breaks and comments. */
	#skip(): void {
		for (; this.at < this.#text.length; this.at++) {
			const sign = this.#text[this.at] ?? '';
			if (sign === '\n') this.#checkIndent(/[\]}]/);
			else if (sign === '#' && /\s/.test(this.#text[this.at - 1] ?? '')) {
				const end = this.#text.indexOf('\n', this.at);
				this.at = (end === -1 ? this.#text.length : end) - 1;
			} else if (sign !== ' ' && sign !== '\t') return;
		}
	}

	/** Refuses a line that belongs to another key, from the break in front of it. */
	#checkIndent(closing?: RegExp): void {
		const blanks = /\n*( *)([^\n]?)/y;
		blanks.lastIndex = this.at;
		const [, spaces = '', sign = ''] = blanks.exec(this.#text) ?? [];
		const least = closing?.test(sign) ? this.#indent : this.#indent + 1;
		if (sign !== '' && spaces.length < least) this.#fail('It is never closed');
	}

	#readPlain(): string {
		const start = this.at;
		if (/^(?:[-?:](?=[\s,[\]{}]|$)|[&*!|>%@`#,[\]{}])/.test(this.#text.slice(start, start + 2))) {
			this.#fail(`It begins with ${this.#text[start]}, which has another meaning`);
			return '';
		}
		for (; this.at < this.#text.length; this.at++) {
			const sign = this.#text[this.at] ?? '';
			if (/[,[\]{}]/.test(sign)) break;
			if (sign === ':' && /^(?:[\s,[\]{}]|$)/.test(this.#text[this.at + 1] ?? '')) break;
			if (sign === '#' && /\s/.test(this.#text[this.at - 1] ?? '')) break;
			if (sign === '\n') this.#checkIndent(/[\]}]/);
		}
		const lines = this.#text.slice(start, this.at).split('\n');
		return foldLines(lines.map(trimBlanks));
	}

	#readSingle(): string {
		let text = '';
		for (this.at++; this.at < this.#text.length; this.at++) {
			const sign = this.#text[this.at] ?? '';
			if (sign === '\n') text = trimBlanksEnd(text) + this.#readBreaks();
			else if (sign !== "'") text += sign;
			else if (this.#text[++this.at] !== "'") return text;
			else text += sign;
		}
		this.#fail("The closing ' is missing");
		return text;
	}

	#readDouble(): string {
		let text = '';
		// Blanks in front of a break are dropped, but none that is escaped.
		let kept = 0;
		for (this.at++; this.at < this.#text.length; this.at++) {
			const sign = this.#text[this.at] ?? '';
			if (sign === '"') {
				this.at++;
				return text;
			}
			if (sign === '\\') {
				text += this.#readEscape();
				kept = text.length;
			} else if (sign === '\n') text = text.slice(0, kept) + trimBlanksEnd(text.slice(kept)) + this.#readBreaks();
			else text += sign;
		}
		this.#fail('The closing " is missing');
		return text;
	}

	/** Reads the breaks and blanks from a break on, up to the sign before the next one. */
	#readBreaks(): string {
		this.#checkIndent();
		if (this.problem !== undefined) return '';
		const found = /[ \t\n]*/y;
		found.lastIndex = this.at;
		const [all = ''] = found.exec(this.#text) ?? [];
		this.at += all.length - 1;
		return toBreaks(all.split('\n').length - 1);
	}

	/** Reads an escape from its backslash on, up to its last sign. */
	#readEscape(): string {
		const sign = this.#text[++this.at] ?? '';
		if (sign === '\n') return this.#readBreaks().replace(/^ $/, '');
		const length = digits[sign];
		if (length === undefined) {
			const meant = Object.hasOwn(escapes, sign) ? escapes[sign] : undefined;
			if (meant === undefined) this.#fail(`\\${sign} is no escape`);
			return meant ?? '';
		}
		const hex = this.#text.slice(this.at + 1, this.at + 1 + length);
		const code = Number.parseInt(hex, 16);
		if (!/^[\da-fA-F]+$/.test(hex) || hex.length < length || code > 0x10ffff) {
			this.#fail(`\\${sign}${hex} is no escape`);
			return '';
		}
		this.at += length;
		return String.fromCodePoint(code);
	}
}
