/** The syntax tree of a JSON Schema pattern: ECMA-262 with the `u` flag, without features that need backtracking. */
export type Node =
	| Char
	| { readonly type: 'at'; readonly place: 'start' | 'end' | 'word' | 'not word' }
	| { readonly type: 'look'; readonly body: Node; readonly isNegative: boolean }
	| { readonly type: 'behind'; readonly characters: readonly Char[]; readonly isNegative: boolean }
	| { readonly type: 'sequence'; readonly nodes: readonly Node[] }
	| { readonly type: 'choice'; readonly nodes: readonly Node[] }
	| { readonly type: 'repeat'; readonly body: Node; readonly least: number; readonly most: number };

/** A node that matches one character of a set. */
export interface Char {
	readonly type: 'char';
	readonly matches: (point: number) => boolean;
}

/** The maximum length of a lookbehind in characters. */
const maxBehind = 100;

/** The maximum depth of nested groups. */
const maxNesting = 50;

/** The maximum length of a pattern in characters. */
const maxPatternLength = 4_000;

/**
 * Parses a pattern. Throws a plain `Error` with the reason if the pattern is not valid or cannot be matched in linear
 * time, as with back references and lookbehinds of variable length.
 */
export function parsePattern(pattern: string): Node {
	if (pattern.length > maxPatternLength) throw new Error(`is longer than ${maxPatternLength} characters`);
	const source = removeNeedlessEscapes(pattern);
	// The JavaScript engine checks the syntax here, so the parser below does not.
	new RegExp(source, 'u');
	return new Reader(source).read();
}

/** Removes escapes such as `\-` and `\@`, which are only valid without the `u` flag. */
function removeNeedlessEscapes(pattern: string): string {
	return pattern.replace(/\\([\s\S])/g, (whole, character: string) =>
		/[\s!"#%&',:;<=>@_`~]/.test(character) ? character : character === '-' ? '\\u002d' : whole,
	);
}

class Reader {
	readonly #source: string;
	#at = 0;
	#depth = 0;

	constructor(source: string) {
		this.#source = source;
	}

	read(): Node {
		return this.#choice();
	}

	#choice(): Node {
		if (++this.#depth > maxNesting) throw new Error(`has more than ${maxNesting} groups within each other`);
		const nodes = [this.#sequence()];
		while (this.#took('|')) nodes.push(this.#sequence());
		this.#depth--;
		return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { type: 'choice', nodes };
	}

	#sequence(): Node {
		const nodes: Node[] = [];
		while (this.#at < this.#source.length && !['|', ')'].includes(this.#source[this.#at] ?? ''))
			nodes.push(this.#repeat(this.#term()));
		return { type: 'sequence', nodes };
	}

	#repeat(body: Node): Node {
		const quantifier = this.#take(/(?:[*+?]|\{(\d+)(,(\d*))?\})\??/y);
		if (quantifier === undefined) return body;
		const [text, low, comma, high] = quantifier;
		if (text.startsWith('{')) {
			const least = Number(low);
			return { type: 'repeat', body, least, most: comma === undefined ? least : high ? Number(high) : Infinity };
		}
		return { type: 'repeat', body, least: text.startsWith('+') ? 1 : 0, most: text.startsWith('?') ? 1 : Infinity };
	}

	#term(): Node {
		if (this.#took('^')) return { type: 'at', place: 'start' };
		if (this.#took('$')) return { type: 'at', place: 'end' };
		if (this.#took('\\b')) return { type: 'at', place: 'word' };
		if (this.#took('\\B')) return { type: 'at', place: 'not word' };
		if (this.#took('(')) return this.#group();
		if (this.#take(/\\(?:[1-9]|k)/y) !== undefined)
			throw new Error('has a back reference, which takes too long to match');
		const [text] =
			this.#take(
				/\[(?:[^\\\]]|\\[\s\S])*\]|\\[pPu]\{[^}]*\}|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[a-zA-Z]|\\[\s\S]|[\s\S]/uy,
			) ?? [];
		if (text === undefined) throw new Error('cannot be read');
		return toChar(text);
	}

	#group(): Node {
		const [opening = ''] = this.#take(/\?(?:<?[=!]|:|<[^>=!][^>]*>|[a-z-]+:)/y) ?? [];
		if (/^\?[a-z-]/.test(opening)) throw new Error('changes its flags');
		const body = this.#choice();
		this.#took(')');
		if (opening === '?<=' || opening === '?<!') {
			const characters = toCharacters(body);
			if (characters === undefined)
				throw new Error('looks behind by a length that varies, which takes too long to match');
			return { type: 'behind', characters, isNegative: opening === '?<!' };
		}
		const isLook = opening === '?=' || opening === '?!';
		return isLook ? { type: 'look', body, isNegative: opening === '?!' } : body;
	}

	#took(text: string): boolean {
		if (!this.#source.startsWith(text, this.#at)) return false;
		this.#at += text.length;
		return true;
	}

	#take(form: RegExp): RegExpExecArray | undefined {
		form.lastIndex = this.#at;
		const found = form.exec(this.#source) ?? undefined;
		this.#at += found?.[0].length ?? 0;
		return found;
	}
}

/** Returns the characters of a node whose length is fixed. Returns `undefined` for other nodes. */
function toCharacters(node: Node): readonly Char[] | undefined {
	if (node.type === 'char') return [node];
	if (node.type === 'repeat') {
		const once = toCharacters(node.body);
		if (once === undefined || node.least !== node.most || node.least * once.length > maxBehind) return undefined;
		return Array.from({ length: node.least }, () => once).flat();
	}
	if (node.type !== 'sequence') return undefined;
	const parts = node.nodes.map(toCharacters);
	const characters = parts.flatMap((part) => part ?? []);
	return parts.includes(undefined) || characters.length > maxBehind ? undefined : characters;
}

/** Makes the test for one character. A regular expression that gets only one character is fast. */
function toChar(source: string): Char {
	const own = source.codePointAt(0) ?? 0;
	if (source !== '.' && source.length === (own > 0xffff ? 2 : 1))
		return { type: 'char', matches: (point) => point === own };
	const form = new RegExp(`^${source}$`, 'u');
	const ascii: boolean[] = [];
	return {
		type: 'char',
		matches: (point) => {
			if (point > 127) return form.test(String.fromCodePoint(point));
			ascii[point] ??= form.test(String.fromCharCode(point));
			return ascii[point];
		},
	};
}
