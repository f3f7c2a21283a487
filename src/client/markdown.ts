/** Reads Markdown into tokens, for the page and the terminal. */

import { Marked, type MarkedToken, type Token, Tokenizer } from 'marked';

/** A text that is shown as it was written. */
interface Verbatim {
	readonly type: 'verbatim';
	readonly raw: string;
}

/** A formula in LaTeX. `isBlock` marks a formula with a line of its own. */
interface Formula {
	readonly type: 'formula';
	readonly raw: string;
	readonly text: string;
	readonly isBlock: boolean;
}

/** A footnote. Its mark stands in a text: `[^1]`. Its note is a separate block: `[^1]: The note.` */
interface Footnote {
	readonly type: 'footnote';
	readonly raw: string;
	readonly label: string;
	readonly tokens?: Token[];
}

export type MarkdownToken = MarkedToken | Verbatim | Formula | Footnote;

/** Matches `$a_b$`, `$$…$$`, `\(…\)` and `\[…\]`, but not `$5 and $6`. Bounded repetitions keep the time linear. */
const formula =
	/^(?:\$\$([^$]{1,2000})\$\$|\$(?!\s)([^$\n]{1,200})(?<!\s)\$(?!\d)|\\\(([^\n]{1,500}?)\\\)|\\\[([\s\S]{1,2000}?)\\\])/;

/** Matches a formula on lines of its own. An empty line would end it, as it ends every block. */
const formulaBlock =
	/^ {0,3}(?:\$\$((?:[^$\n]|\n(?![ \t]*\n)){1,2000})\$\$|\\\[((?:[^\n]|\n(?![ \t]*\n)){1,2000}?)\\\])[ \t]*(?:\n|$)/;

function toFormula(match: RegExpExecArray | null): Formula | undefined {
	if (match === null) return undefined;
	const [raw, ...texts] = match;
	const text = texts.find((one) => one !== undefined) ?? '';
	return { type: 'formula', raw, text: text.trim(), isBlock: /^\s*(?:\$\$|\\\[)/.test(raw) };
}

/** Scripts without spaces between words. There a mark can stand between any two characters: `**注意：**请`. */
const noSpaces =
	/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}]/u;
/** Arabic and Hebrew attach short words to the next word, as in `و*الكتاب*`. Elsewhere `2*3*4` is no emphasis. */
const starBefore = /\p{N}$|(?![\p{Script=Arabic}\p{Script=Hebrew}])\p{L}$/u;
const plainEmphasis = /^(\*\*?)(?![\s*])([^*\n]{0,498}[^*\s])\1(?!\*)/;

/**
 * Matches the start of a bare address, up to a mark of the sentence. Scripts with such marks write no space before or after
 * them. A `）` can belong to a `（` in the address.
 */
const cutAddress = /^(?:https?:\/\/|www\.)[^\s<]{1,2000}?(?=[、。，！？；：」』】》”»،؛؟]|）(?<!（[^）]*）))/i;

const marked = new Marked({
	gfm: true,
	tokenizer: {
		// No link definitions: a block must look the same, whether the rest of the text has arrived or not.
		def: () => undefined,
		// Marked takes any white space after the marks, such as an ideographic space.
		heading: (source) => (/^ {0,3}#+[^\S \t\n]/.test(source) ? undefined : false),
		emStrong(source, masked, before = '') {
			const [raw = '', stars, text] = plainEmphasis.exec(source) ?? [];
			const at = masked.length - source.length;
			// `before` can be a surrogate.
			const last = [...masked.slice(Math.max(0, at - 2), at)].at(-1) ?? '';
			const [next = ''] = source.slice(raw.length);
			if (text !== undefined && (noSpaces.test(last) || noSpaces.test(next)))
				return { type: stars === '*' ? 'em' : 'strong', raw, text, tokens: this.lexer.inlineTokens(text) };
			return /^\*(?!\*)/.test(source) && starBefore.test(before) ? undefined : false;
		},
		url(source) {
			const [address] = cutAddress.exec(source) ?? [];
			return address ? Tokenizer.prototype.url.call(this, address) : false;
		},
		// Marked's own rule needs seconds for a thousand tildes.
		del(source) {
			const [raw = '', text] = /^~~(?!\s)([^~]{0,498}[^~\s])~~(?!~)/.exec(source) ?? [];
			return text === undefined ? undefined : { type: 'del', raw, text, tokens: this.lexer.inlineTokens(text) };
		},
	},
	extensions: [
		{
			name: 'formulaBlock',
			level: 'block',
			start: (source) => /\n {0,3}(?:\$\$|\\\[)/.exec(source)?.index,
			tokenizer: (source) => toFormula(formulaBlock.exec(source)),
		},
		{
			name: 'formula',
			level: 'inline',
			start: (source) => /\$|\\[([]/.exec(source)?.index,
			tokenizer: (source) => toFormula(formula.exec(source)),
		},
		{
			name: 'footnoteBlock',
			level: 'block',
			start: (source) => /\n\[\^\d{1,3}\]:/.exec(source)?.index,
			tokenizer(source) {
				const [raw, label, text] = /^\[\^(\d{1,3})\]:[ \t]+([^\n]+)(?:\n|$)/.exec(source) ?? [];
				if (raw === undefined || label === undefined || text === undefined) return undefined;
				const tokens: Token[] = [];
				this.lexer.inline(text, tokens);
				return { type: 'footnote', raw, label, tokens };
			},
		},
		{
			name: 'footnote',
			level: 'inline',
			start: (source) => /\[\^\d/.exec(source)?.index,
			tokenizer(source) {
				const [raw, label] = /^\[\^(\d{1,3})\]/.exec(source) ?? [];
				return raw === undefined ? undefined : { type: 'footnote', raw, label };
			},
		},
	],
});

/** The maximum length of inline text to parse. Longer text is shown as it was written: parsing could take long. */
const longestProse = 20_000;

/** A text as blocks. Their inline text is not parsed yet. */
export interface Markdown {
	readonly blocks: readonly MarkdownToken[];
	/** Returns the inline text of a token of `blocks`. */
	readonly getLine: (token: { readonly tokens?: Token[] }) => string;
}

/** Reads a text into blocks. Never throws. */
export function openMarkdown(text: string): Markdown {
	const lexer = new marked.Lexer(marked.defaults);
	try {
		const blocks = toKnown(lexer.blockTokens(text, []));
		const lines = new Map(lexer.inlineQueue.map(({ src, tokens }) => [tokens, src]));
		return { blocks, getLine: ({ tokens = [] }) => lines.get(tokens) ?? '' };
	} catch {
		// Thousands of nested quotes overflow the stack.
		return { blocks: [{ type: 'verbatim', raw: text }], getLine: () => '' };
	}
}

/** Parses inline text: emphasis, code, links. */
export function readLine(text: string): MarkdownToken[] {
	if (text.length > longestProse) return [{ type: 'verbatim', raw: text }];
	return toKnown(new marked.Lexer(marked.defaults).inlineTokens(text));
}

/** Splits a text of whole lines at its last empty line. Later text cannot change the blocks before that line. */
export function splitBlocks(text: string): { readonly settled: Markdown; readonly rest: string } {
	const { blocks, getLine } = openMarkdown(text);
	const last = blocks.findLastIndex(({ type }) => type !== 'space');
	const gap = blocks.findLastIndex(({ type }, at) => type === 'space' && at < last);
	const settled = blocks.slice(0, gap + 1);
	const raw = settled.map(({ raw }) => raw).join('');
	// If the lexer has changed the text, the length of the blocks does not show where to split.
	if (!text.startsWith(raw)) return { settled: { blocks: [], getLine }, rest: text };
	return { settled: { blocks: settled, getLine }, rest: text.slice(raw.length) };
}

/** The tokens within a token. */
export function toKnown(tokens: readonly Token[] = []): MarkdownToken[] {
	return tokens.filter(isKnown);
}

const known: ReadonlySet<string> = new Set<MarkdownToken['type']>([
	...([
		'blockquote',
		'br',
		'checkbox',
		'code',
		'codespan',
		'def',
		'del',
		'em',
		'escape',
		'verbatim',
		'formula',
		'footnote',
		'heading',
	] as const),
	...(['hr', 'html', 'image', 'link', 'list', 'list_item', 'paragraph', 'space', 'strong', 'table', 'text'] as const),
]);

function isKnown(token: Token): token is MarkdownToken & Token {
	return known.has(token.type);
}
