import { type Entry, type Problem, readYaml } from './yaml.ts';

export type { Entry } from './yaml.ts';

/**
 * A violation of the SKILL.md format. `line` counts from 1 in the file. `field` is a key of the front matter, or
 * `frontMatter`. A skill with an `error` does not work here. A skill with a `warning` works here, but possibly not in
 * other programs.
 */
export interface Violation {
	readonly severity: 'error' | 'warning';
	readonly field: string;
	readonly message: string;
	readonly line?: number;
}

/** `repairs` lists the values that were quoted to make the YAML readable. */
export type FrontMatter =
	| {
			readonly ok: true;
			readonly entries: ReadonlyMap<string, Entry>;
			readonly repairs: readonly Violation[];
			readonly body: string;
	  }
	| { readonly ok: false; readonly violation: Violation };

/** The maximum length of a front matter in characters. It is limited because reading YAML takes time. */
const maxLength = 32_000;

/**
 * Splits a SKILL.md into front matter and body. Never throws.
 *
 * The first line of the file and a later line are `---`. The front matter is between these two lines. The body
 * is everything after the second line, without one blank line at its beginning.
 */
export function readFrontMatter(text: string): FrontMatter {
	const open = /^\uFEFF?---[ \t]*\r?(?=\n|$)/.exec(text)?.[0];
	if (open === undefined) {
		return fail('is missing: the first line has to be `---`, then `name:` and `description:`, then `---` again', 1);
	}
	const closing = /\n---[ \t]*(?:\r?\n|$)/g;
	closing.lastIndex = open.length;
	const close = closing.exec(text);
	if (close === null) return fail('is never closed: write a line `---` after its last key', 1);
	const body = text.slice(closing.lastIndex).replace(/^\r?\n/, '');
	if (close.index > maxLength)
		return fail(`has ${close.index} characters, and ${maxLength} are allowed: put long text in the body`, 1);
	// The YAML starts with the line break after the opening `---`, so its line numbers equal those of the file.
	const yaml = text.slice(open.length, close.index).replace(/\r(?=\n|$)/g, '');
	const { entries, problems } = readYaml(yaml);
	const [problem] = problems;
	if (problem === undefined) return { ok: true, entries, repairs: [], body };
	const repaired = repair(yaml, problems);
	if (repaired !== undefined) return { ok: true, ...repaired, body };
	const advice = 'check the indentation, and put text that holds `: ` in quotes';
	return fail(`is not valid YAML: ${problem.message} (${advice})`, problem.line);
}

/** Matches a line `key: plain text`, without a quote, block, collection, anchor, tag or comment. */
const plainLine = /^( *)([\w.-]+):[ \t]+([^\s"'|>[\]{}&!#,].*)$/s;

/** Matches a line that continues the text above it. Does not match a line that looks like a key. */
const nextLine = /^[ \t]+(?![a-z][\w.-]*:(?:\s|$))[^\s#]/;

/** A plain text value, including the following lines with deeper indentation. */
interface PlainValue {
	readonly indent: string;
	readonly key: string;
	readonly text: string;
	/** The offset of the value's first line in the YAML. `next` is the index of the line after the value. */
	readonly at: number;
	readonly length: number;
	readonly next: number;
}

function readPlainValue(lines: readonly string[], first: number, at: number): PlainValue | undefined {
	const [line = '', indent = '', key = '', start = ''] = plainLine.exec(lines[first] ?? '') ?? [];
	if (key === '') return undefined;
	let next = first + 1;
	for (let index = next; index < lines.length; index++) {
		const below = lines[index] ?? '';
		if (below === '') continue;
		if (!below.startsWith(indent) || !nextLine.test(below.slice(indent.length))) break;
		next = index + 1;
	}
	const more = lines
		.slice(first + 1, next)
		.map((below) => `\n${below}`)
		.join('');
	return { indent, key, text: start + more, at, length: line.length + more.length, next };
}

interface Repaired {
	readonly entries: ReadonlyMap<string, Entry>;
	readonly repairs: readonly Violation[];
}

/** The maximum number of attempts to read the YAML. Each attempt quotes more values. */
const maxRepairs = 10;

/** Quotes each plain value with a problem, mostly an unquoted `: `. Returns `undefined` if this does not help. */
function repair(yaml: string, problems: readonly Problem[], round = 1): Repaired | undefined {
	const repairs: Violation[] = [];
	const open = problems.toSorted((one, other) => one.at - other.at);
	const lines = yaml.split('\n');
	const written: string[] = [];
	let at = 0;
	let reached = 0;
	for (let index = 0; index < lines.length; ) {
		const value = readPlainValue(lines, index, at);
		const next = value?.next ?? index + 1;
		const whole = lines.slice(index, next).join('\n');
		while ((open[reached]?.at ?? Infinity) < at) reached++;
		const problem = open[reached];
		if (value === undefined || problem === undefined || problem.at >= at + value.length) written.push(whole);
		else {
			const { indent, key, text } = value;
			repairs.push({
				severity: 'warning',
				field: indent === '' ? key : 'frontMatter',
				message: `${key} is not valid YAML without quotes (${problem.message}): put the whole value in quotes`,
				line: problem.line,
			});
			written.push(`${indent}${key}: '${text.trimEnd().replaceAll("'", "''")}'`);
		}
		at += whole.length + 1;
		index = next;
	}
	if (repairs.length === 0 || round > maxRepairs) return undefined;
	const { entries, problems: left } = readYaml(written.join('\n'));
	if (left.length === 0) return { entries, repairs };
	const rest = repair(written.join('\n'), left, round + 1);
	return rest && { entries: rest.entries, repairs: [...repairs, ...rest.repairs] };
}

function fail(message: string, line: number): FrontMatter {
	return {
		ok: false,
		violation: { severity: 'error', field: 'frontMatter', message: `The front matter ${message}`, line },
	};
}
