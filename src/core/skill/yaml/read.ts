import { joinBlock } from './block-text.ts';
import { readFlow } from './flow.ts';
import {
	type Entry,
	foldLines,
	maxDepth,
	type Node,
	type Problem,
	toMap,
	toScalar,
	toText,
	trimBlanks,
	trimBlanksEnd,
} from './node.ts';

export interface Parsed {
	/** Empty if there are problems. */
	readonly entries: ReadonlyMap<string, Entry>;
	readonly problems: readonly Problem[];
}

const noEntries: ReadonlyMap<string, Entry> = new Map();
const nothing: Node = { value: null, text: '' };

/**
 * Reads a map of YAML 1.2 (https://yaml.org/spec/1.2.2/) with text keys: maps and lists as blocks or in brackets, text
 * plain, in quotes, or in a block (`|` and `>`), and comments. Refuses anchors, aliases, tags, directives and keys that are
 * no text, so that the result is plain JSON without cycles or blow-up.
 */
export function readYaml(text: string): Parsed {
	const reader = new BlockReader(text);
	const entries = reader.read();
	return { entries: reader.problems.length > 0 ? noEntries : entries, problems: reader.problems };
}

const isBlank = (line: string) => /^[ \t]*(?:#.*)?$/.test(line);
const isItem = (text: string) => /^-(?:[ \t]|$)/.test(text);
const countSpaces = (line: string) => line.length - line.replace(/^ +/, '').length;

class BlockReader {
	readonly problems: Problem[] = [];
	readonly #text: string;
	readonly #lines: string[];
	/** The offset of each line. */
	readonly #starts: readonly number[];
	/** The line that is read next. */
	#at = 0;

	constructor(text: string) {
		this.#text = text;
		this.#lines = text.split('\n');
		let start = 0;
		this.#starts = this.#lines.map((line) => {
			start += line.length + 1;
			return start - line.length - 1;
		});
	}

	read(): ReadonlyMap<string, Entry> {
		const control = this.#text.search(/[^\P{Cc}\t\n\x80-\x9f]/u);
		if (control !== -1) {
			this.#at = this.#starts.findLastIndex((start) => start <= control);
			this.#stop('A control character stands in it', control - (this.#starts[this.#at] ?? 0));
		}
		if (!this.#skip()) return noEntries;
		const first = this.#at;
		const { entries, value } = this.#readBlock(-1, 0);
		if (this.#skip()) this.#stop('The indentation is not that of the lines above');
		if (entries !== undefined || value === null || this.problems.length > 0) return entries ?? noEntries;
		this.#at = first;
		this.#stop('Keys are expected, such as `name: pdf`');
		return noEntries;
	}

	/** Says what is wrong at a column of the line, which belongs to a value that began at `line`, and goes on. */
	#report(message: string, column: number, line = this.#at + 1): void {
		this.problems.push({ message, line, at: (this.#starts[this.#at] ?? 0) + column });
	}

	/** Says what is wrong, and ends the reading. */
	#stop(message: string, column = countSpaces(this.#lines[this.#at] ?? '')): Node {
		if (this.#at < this.#lines.length) this.#report(message, column);
		this.#at = this.#lines.length;
		return nothing;
	}

	/** Goes to the next line that says something. Whether there is one. */
	#skip(): boolean {
		while (this.#at < this.#lines.length && isBlank(this.#lines[this.#at] ?? '')) this.#at++;
		return this.#at < this.#lines.length;
	}

	/** Reads what stands at the line, which is indented more than `parent`. */
	#readBlock(parent: number, depth: number): Node {
		const line = this.#lines[this.#at] ?? '';
		const indent = countSpaces(line);
		const rest = line.slice(indent);
		if (depth > maxDepth) return this.#stop('It is nested too deep');
		if (isItem(rest)) return this.#readList(indent, depth);
		return rest.startsWith('\t') || matchKey(rest) !== undefined
			? this.#readMap(indent, depth)
			: this.#readValue(indent, parent);
	}

	#readList(indent: number, depth: number): Node {
		const items: unknown[] = [];
		while (this.#skip()) {
			const line = this.#lines[this.#at] ?? '';
			const found = countSpaces(line);
			if (found > indent) return this.#stop('The indentation is not that of the items above');
			if (found < indent || !isItem(line.slice(indent))) break;
			const rest = line.slice(indent + 1);
			if (isBlank(rest)) {
				this.#at++;
				items.push(this.#readBelow(indent, depth).value);
			} else {
				// What follows the dash is a block of its own, indented as it stands.
				this.#lines[this.#at] = `${line.slice(0, indent)} ${rest}`;
				items.push(this.#readBlock(indent, depth + 1).value);
			}
		}
		return { value: items };
	}

	#readMap(indent: number, depth: number): Node {
		const entries = new Map<string, Entry>();
		while (this.#skip()) {
			const line = this.#lines[this.#at] ?? '';
			const found = countSpaces(line);
			const rest = line.slice(indent);
			if (found < indent) break;
			if (rest.startsWith('\t')) return this.#stop('A tab is no indentation: write spaces');
			if (found > indent) return this.#stop('The indentation is not that of the keys above');
			const key = isItem(rest) || /^(?:---|\.\.\.)(?:\s|$)/.test(line) ? undefined : matchKey(rest);
			if (key === undefined) return this.#stop('A key is expected, such as `name: pdf`');
			if (entries.has(key.text)) this.#report(`The key ${key.text} stands twice`, indent);
			const place = this.#at + 1;
			const behind = rest.slice(key.length);
			const column = line.length - behind.replace(/^[ \t]+/, '').length;
			if (isBlank(behind)) this.#at++;
			const node = isBlank(behind) ? this.#readBelow(indent, depth, true) : this.#readValue(column, indent);
			entries.set(key.text, { ...node, line: place });
		}
		return toMap(entries);
	}

	/** Reads what stands below a key or a dash. A list may stand right under its key. */
	#readBelow(indent: number, depth: number, isKey = false): Node {
		if (!this.#skip()) return nothing;
		const line = this.#lines[this.#at] ?? '';
		const found = countSpaces(line);
		if (found > indent) return this.#readBlock(indent, depth + 1);
		return isKey && found === indent && isItem(line.slice(indent)) ? this.#readBlock(indent - 1, depth + 1) : nothing;
	}

	/** Reads what begins at a column of the line. Its further lines are indented more than `parent`. */
	#readValue(column: number, parent: number): Node {
		const line = this.#lines[this.#at] ?? '';
		const sign = line[column] ?? '';
		if (/[|>]/.test(sign)) return this.#readBlockText(line.slice(column), parent);
		if (!/["'[{]/.test(sign)) return this.#readPlain(column, parent);
		const flow = readFlow(this.#text, (this.#starts[this.#at] ?? 0) + column, parent);
		const last = flow.ok ? flow.end : flow.at;
		this.#at = this.#starts.findLastIndex((start) => start <= last);
		const end = last - (this.#starts[this.#at] ?? 0);
		if (!flow.ok) return this.#stop(flow.message, end);
		const behind = (this.#lines[this.#at] ?? '').slice(end);
		if (!isBlank(behind) || behind.startsWith('#')) return this.#stop('Something stands behind the value', end);
		this.#at++;
		return flow.node;
	}

	#readPlain(column: number, parent: number): Node {
		const lines: string[] = [];
		let isCommented = false;
		let isReported = false;
		const begun = this.#at + 1;
		const report = (message: string, at: number) => {
			if (!isReported) this.#report(message, at, begun);
			isReported = true;
		};
		const first = (this.#lines[this.#at] ?? '').slice(column);
		if (/^(?:[&*!%@`,#\]}]|[-?:](?:[ \t]|$))/.test(first))
			report(`It begins with ${first[0]}, which has another meaning`, column);
		for (let start = column; this.#at < this.#lines.length; this.#at++, start = 0) {
			const line = this.#lines[this.#at] ?? '';
			const text = trimBlanks(line.slice(start));
			if (lines.length > 0 && text !== '' && (countSpaces(line) <= parent || text.startsWith('#'))) break;
			if (isCommented && text !== '') return this.#stop('Text stands behind a comment');
			const [said = ''] = line.slice(start).split(/(?<=[ \t])#/, 1);
			isCommented ||= said.length < line.length - start;
			const colon = said.search(/:(?:[ \t]|$)/);
			if (colon !== -1) report('A colon in front of a blank ends a key', start + colon);
			lines.push(trimBlanks(said));
		}
		return toScalar(foldLines(lines));
	}

	#readBlockText(header: string, parent: number): Node {
		const [, style = '', ...more] = /^([|>])(?:([+-])?([1-9])?|([1-9])([+-]))(?:[ \t]+#.*|[ \t]*)$/.exec(header) ?? [];
		if (style === '') return this.#stop('Text begins on the line below | and >');
		const [chomp, width] = [more[0] ?? more[3], more[1] ?? more[2]];
		const lines: string[] = [];
		for (this.#at++; this.#at < this.#lines.length; this.#at++) {
			const line = this.#lines[this.#at] ?? '';
			if (!/^ *$/.test(line) && countSpaces(line) <= parent) break;
			lines.push(line);
		}
		const isLast = this.#at === this.#lines.length;
		const filled = lines.filter((line) => !/^ *$/.test(line)).map(countSpaces);
		const indent = width === undefined ? (filled[0] ?? 0) : Math.max(parent, 0) + Number(width);
		const before = lines.slice(
			0,
			lines.findIndex((line) => !/^ *$/.test(line)),
		);
		if (
			filled.some((found) => found < indent) ||
			(width === undefined && before.some((line) => line.length > indent))
		) {
			this.#at -= lines.length;
			return this.#stop('The lines of a text are indented as its first one');
		}
		return toText(joinBlock(isLast ? lines : [...lines, ''], { style, chomp, indent }));
	}
}

/** Returns the key that a line begins with, and the length with its colon. */
function matchKey(text: string): { readonly text: string; readonly length: number } | undefined {
	if (/^["']/.test(text)) {
		const [all] = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:(?=[ \t]|$)/.exec(text) ?? [];
		const flow = all === undefined ? undefined : readFlow(text, 0, 0);
		return all !== undefined && flow?.ok ? { text: flow.node.text ?? '', length: all.length } : undefined;
	}
	const colon = text.search(/:(?:[ \t]|$)/);
	if (colon < 1 || /^(?:[[\]{},&*!|>%@`#]|[-?:][ \t])|[ \t]#/.test(text.slice(0, colon))) return undefined;
	return { text: trimBlanksEnd(text.slice(0, colon)), length: colon + 1 };
}
