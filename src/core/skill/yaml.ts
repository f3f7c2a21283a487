/** Reads and writes the YAML of a front matter, with the package `yaml`. */
import {
	isAlias,
	isMap,
	isScalar,
	isSeq,
	LineCounter,
	parseDocument,
	stringify,
	type YAMLMap,
	type Node as YamlNode,
} from 'yaml';

/** A YAML value, converted to JSON. */
interface Value {
	readonly value: unknown;
	/** A scalar as the file has it, such as `1.10` or `no`. The quotes of a text are removed. */
	readonly text?: string;
	/** The keys of a map. */
	readonly entries?: ReadonlyMap<string, Entry>;
}

/** A key of a map with its value. `line` is the line of the key, counted from 1. */
export interface Entry extends Value {
	readonly line: number;
}

/** A mistake with its position: `line` counts from 1, and `at` is an offset in the text. */
export interface Problem {
	readonly message: string;
	readonly line: number;
	readonly at: number;
}

export interface Parsed {
	/** Empty if there are problems. */
	readonly entries: ReadonlyMap<string, Entry>;
	readonly problems: readonly Problem[];
}

/** The maximum depth of nested lists and maps. */
const maxDepth = 64;
const tooDeep = `Lists and maps are nested deeper than ${maxDepth}`;

const noEntries: ReadonlyMap<string, Entry> = new Map();

/** Reads a map of YAML 1.2 as plain JSON. Refuses anchors, aliases, tags and directives. Never throws. */
export function readYaml(text: string): Parsed {
	const lines = new LineCounter();
	const problems: Problem[] = [];
	const report = (message: string, at: number): void => {
		problems.push({ message, at, line: Math.max(1, lines.linePos(at).line) });
	};
	const refuse = (pattern: RegExp, message: string): void => {
		const at = text.search(pattern);
		if (at !== -1) problems.push({ message, at, line: text.slice(0, at).split('\n').length });
	};
	refuse(/[^\P{Cc}\t\n\x7f-\x9f]/u, 'A control character stands in it');
	refuse(/(?<![^\n])%/, 'A directive (%) has no meaning here');
	if (problems.length > 0) return { entries: noEntries, problems };
	const document = parse(text, lines);
	if (document === undefined) report(tooDeep, 0);
	for (const { message, pos } of document?.errors ?? []) report(message, pos[0]);
	const contents = document?.contents ?? null;
	if (problems.length > 0 || contents === null) return { entries: noEntries, problems };
	if (!isMap(contents)) {
		report('Keys are expected, such as `name: pdf`', contents.range?.[0] ?? 0);
		return { entries: noEntries, problems };
	}
	const entries = new Reader(lines, report).readMap(contents, 0);
	return { entries: problems.length > 0 ? noEntries : entries, problems };
}

/** Parses a document. Returns `undefined` if it is nested deeper than the stack of the parser allows. */
function parse(text: string, lineCounter: LineCounter) {
	try {
		return parseDocument(text, { stringKeys: true, prettyErrors: false, logLevel: 'error', lineCounter });
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

class Reader {
	readonly #lines: LineCounter;
	readonly #report: (message: string, at: number) => void;

	constructor(lines: LineCounter, report: (message: string, at: number) => void) {
		this.#lines = lines;
		this.#report = report;
	}

	readMap({ items }: YAMLMap, depth: number): ReadonlyMap<string, Entry> {
		const entries = new Map<string, Entry>();
		for (const { key, value } of items) {
			if (!isScalar(key)) continue;
			const at = key.range?.[0] ?? 0;
			this.#assertPlain(key);
			entries.set(String(key.value), { ...this.#read(value, depth + 1), line: this.#lines.linePos(at).line });
		}
		return entries;
	}

	#read(node: unknown, depth: number): Value {
		if (isAlias(node)) this.#report('An alias (*) has no meaning here', node.range?.[0] ?? 0);
		else if (isScalar(node)) {
			this.#assertPlain(node);
			return toValue(node.value, node.source);
		} else if (isMap(node) || isSeq(node)) {
			this.#assertPlain(node);
			if (depth > maxDepth) this.#report(tooDeep, node.range?.[0] ?? 0);
			else if (isSeq(node)) return { value: node.items.map((item) => this.#read(item, depth + 1).value) };
			else {
				const entries = this.readMap(node, depth);
				return { value: Object.fromEntries([...entries].map(([key, { value }]) => [key, value])), entries };
			}
		}
		return { value: null, text: '' };
	}

	#assertPlain({ anchor, tag, range }: YamlNode & { anchor?: string; tag?: string }): void {
		if (anchor !== undefined) this.#report('An anchor (&) has no meaning here', range?.[0] ?? 0);
		if (tag !== undefined) this.#report('A tag (!) has no meaning here', range?.[0] ?? 0);
	}
}

/** Converts a scalar. Numbers that JSON cannot hold stay text, and `-0` becomes `0`. */
function toValue(value: unknown, text = ''): Value {
	if (typeof value !== 'number') return { value: value ?? null, text };
	return { value: Number.isFinite(value) ? value + 0 : text, text };
}

/** Writes a map as YAML that versions 1.1 and 1.2 read alike. Quotes texts that look like a number, date or boolean. */
export function writeYaml(map: Readonly<Record<string, unknown>>): string {
	const kept = new Map(Object.entries(map).filter(([, value]) => value !== undefined));
	return stringify(kept, {
		compat: 'yaml-1.1',
		lineWidth: 0,
		blockQuote: false,
		doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
		aliasDuplicateObjects: false,
	});
}
