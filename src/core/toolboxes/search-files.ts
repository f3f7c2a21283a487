import * as v from 'valibot';
import { RunletError, toMessageText } from '../ground/errors.ts';
import { truncateText } from '../ground/text.ts';
import { Work } from '../ground/work.ts';
import { define } from '../tool/define.ts';
import type { Tool } from '../tool/index.ts';
import { compilePattern, type Pattern } from '../tool/pattern/pattern.ts';
import type { ListedEntry, Workspace } from '../workspace/index.ts';
import { folderPath, getWorkspace, hasWorkspace } from './files.ts';
import { compileGlob } from './glob.ts';

/** The steps to open a file. */
const perFile = 2_000;
/** The steps to read a character, and to compare it with one that is looked for. */
const [perCharacter, perCompared] = [0.5, 0.005];
/** Bytes of a file that are read together. */
const bytesAtOnce = 262_144;
/** Characters of a line that are shown. */
const longestLine = 500;

/** A line where something was found. */
interface Match {
	readonly path: string;
	readonly line: number;
	readonly text: string;
	readonly before?: readonly string[];
	readonly after?: readonly string[];
}

/** Makes the tool `search_files`. */
export function searchFilesTool(): Tool {
	return define({
		name: 'search_files',
		description: 'Find the lines of text files that have a text in them, or match a regular expression.',
		inputSchema: v.object({
			query: v.pipe(v.string(), v.minLength(1), v.maxLength(1_000), v.description('What a line has in it')),
			regex: v.optional(v.pipe(v.boolean(), v.description('Whether query is a regular expression'))),
			path: v.optional(v.pipe(folderPath, v.description('A folder or a file; everything when left out'))),
			glob: v.optional(v.pipe(v.string(), v.description('Only files such as *.ts or src/**/*.md'))),
			context: v.optional(
				v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10), v.description('Lines before and after; 0')),
			),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(500), v.description('50'))),
		}),
		passInput: true,
		retry: 'safe',
		isAvailable: hasWorkspace,
		onRequest: ({ query, path, glob }) => ['Searching files', [query, path, glob].filter(Boolean).join(' in ')],
		onResult: (_, { matches, truncated }) => `${matches.length}${truncated ? ' and more' : ''} lines found`,
		fn: async ({ query, regex = false, path = '', glob, context: around = 0, limit = 50 }, context) => {
			const workspace = getWorkspace(context);
			const test = compileQuery(query, regex);
			const remedy = 'Search fewer files, or for a plain text.';
			const work = new Work({ signal: context.signal, field: 'query', remedy });
			const search: Search = { workspace, test, limit, work };
			const { matches, truncated } = await searchAll(search, path, glob === undefined ? undefined : compileGlob(glob));
			return { matches: await Promise.all(matches.map((match) => addContext(workspace, match, around))), truncated };
		},
	});
}

/** How lines are looked at. */
interface Test {
	/** A text that every line has which is looked for. */
	readonly literal: string;
	/** Whether a line with the literal is one of them. Missing where all are. */
	readonly pattern?: Pattern;
}

function compileQuery(query: string, isRegex: boolean): Test {
	if (isRegex) {
		try {
			return { literal: findLiteral(query), pattern: compilePattern(query) };
		} catch (error) {
			const remedy = 'Write another one, or a text without regex';
			throw new RunletError('invalid_argument', `query: ${toMessageText(error)}. ${remedy}.`, { field: 'query' });
		}
	}
	if (!/[\r\n]/.test(query)) return { literal: query };
	throw new RunletError('invalid_argument', 'query: has a line break. Lines are searched one by one: give one line.', {
		field: 'query',
	});
}

/** A text that stands in everything that a regular expression matches: the longest one that is easy to see. */
function findLiteral(source: string): string {
	if (/[|([]/.test(source)) return '';
	// What may be repeated no time, what is escaped, and what stands for other characters is no literal.
	const plain = source.replace(/\\(?:[xuUpPc]\S*|.)|.(?=[*?{])/gsu, '\0').replace(/\{[^}]*\}|[.^$*+?{}\n]/g, '\0');
	return plain.split('\0').reduce((longest, one) => (one.length > longest.length ? one : longest), '');
}

interface Search {
	readonly workspace: Workspace;
	readonly test: Test;
	readonly limit: number;
	readonly work: Work;
}

interface Found {
	readonly matches: Match[];
	/** Whether there may be more. */
	truncated: boolean;
}

/** Searches until there are enough matches, or the work is too much. */
async function searchAll(search: Search, path: string, glob: ReturnType<typeof compileGlob> | undefined): Promise<Found> {
	const { workspace, work } = search;
	const found: Found = { matches: [], truncated: false };
	try {
		for await (const { path: file } of listFiles(workspace, path)) {
			await work.add(perFile);
			if (glob === undefined || (await work.do(glob(file, work)))) await searchFile(search, file, found);
			if (found.truncated) break;
		}
	} catch (error) {
		if (!work.isOver) throw error;
		found.truncated = true;
	}
	return found;
}

/** The files of a folder, or the one file. */
async function* listFiles(workspace: Workspace, path: string): AsyncGenerator<Pick<ListedEntry, 'path'>> {
	const info = path === '' ? undefined : await workspace.stat(path);
	if (info?.type === 'file') {
		yield info;
		return;
	}
	for (let after: string | undefined; ; ) {
		const { entries, truncated } = await workspace.list({ path, recursive: true, limit: 1_000, after });
		yield* entries.filter(({ type }) => type === 'file');
		after = entries.at(-1)?.path;
		if (!truncated) return;
	}
}

async function searchFile(search: Search, path: string, found: Found): Promise<void> {
	const { workspace, test, work } = search;
	const info = await workspace.stat(path);
	if (info?.type !== 'file' || info.lines === undefined) return;
	for (let line = 1; line <= info.lines && !found.truncated; ) {
		const { text, toLine, isCut } = await workspace.readLines(path, { fromLine: line, maxBytes: bytesAtOnce });
		// The engine may compare each character with all of what is looked for.
		await work.add(text.length * (perCharacter + perCompared * test.literal.length));
		if (text.includes(test.literal)) await searchLines(search, { path, line, toLine, text }, found);
		found.truncated ||= isCut;
		line = toLine + 1;
	}
}

/** A part of a file, from a line on. */
interface Part {
	readonly path: string;
	readonly line: number;
	readonly toLine: number;
	readonly text: string;
}

async function searchLines({ test, limit, work }: Search, part: Part, found: Found): Promise<void> {
	const { literal, pattern } = test;
	for (const [at, one] of part.text.split('\n').entries()) {
		const text = one.replace(/\r$/, '');
		if (part.line + at > part.toLine || !text.includes(literal)) continue;
		await work.add(1);
		if (pattern !== undefined && !(await work.do(pattern.test(text, work)))) continue;
		if (found.matches.length === limit) {
			found.truncated = true;
			return;
		}
		found.matches.push({ path: part.path, line: part.line + at, text: cutLine(text) });
	}
}

async function addContext(workspace: Workspace, match: Match, around: number): Promise<Match> {
	if (around === 0) return match;
	const { path, line } = match;
	const first = Math.max(1, line - around);
	const { text, lines, toLine } = await workspace.readLines(path, { fromLine: first, toLine: line + around });
	const shown = text.split('\n').map((one) => cutLine(one.replace(/\r$/, '')));
	const before = shown.slice(0, line - first);
	const after = shown.slice(line - first + 1, Math.min(toLine, lines) - first + 1);
	return { ...match, before, after };
}

function cutLine(text: string): string {
	return text.length > longestLine ? `${truncateText(text, longestLine)}…` : text;
}
