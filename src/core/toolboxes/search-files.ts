import * as v from 'valibot';
import { createFieldError, toMessageText } from '../base/errors.ts';
import { cutAround } from '../base/text.ts';
import { Work } from '../base/work.ts';
import { define } from '../tool/define.ts';
import type { Tool } from '../tool/index.ts';
import { compilePattern, type Pattern } from '../tool/pattern/pattern.ts';
import type { Workspace } from '../workspace/index.ts';
import { fileReader, folderPath, getWorkspace, listFiles } from './files.ts';
import { compileGlob } from './glob.ts';

/** The cost of opening a file, in steps. */
const perFile = 2_000;
/** The cost of reading a character, and of comparing it with a character of the query, in steps. */
const [perCharacter, perCompared] = [0.5, 0.005];
/** The number of bytes of a file that are read at once. */
const bytesAtOnce = 262_144;
/** The maximum length of a line that is searched at once. In longer lines, plain text is searched part by part. */
const longestLine = 262_144;
/** The maximum number of characters that are shown of a line. */
const shownCharacters = 500;
const mostNamed = 10;

interface Match {
	readonly path: string;
	readonly line: number;
	readonly text: string;
	readonly before?: readonly string[];
	readonly after?: readonly string[];
}

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
		...fileReader,
		onRequest: ({ query, path, glob }) => ['Searching files', [query, path, glob].filter(Boolean).join(' in ')],
		onResult: (_, { matches, truncated }) => `${matches.length}${truncated ? ' and more' : ''} lines found`,
		fn: async ({ query, regex = false, path = '', glob, context: around = 0, limit = 50 }, context) => {
			const workspace = getWorkspace(context);
			const test = compileQuery(query, regex);
			const remedy = 'Search fewer files, or for a plain text.';
			const work = new Work({ signal: context.signal, field: 'query', remedy });
			const search: Search = { workspace, test, limit, work };
			const wanted = glob === undefined ? undefined : compileGlob(glob);
			const { matches, truncated, passed } = await searchAll(search, path, wanted);
			return {
				matches: await Promise.all(matches.map((match) => addContext(workspace, match, around))),
				truncated,
				...(passed.length > 0 && { note: describePassed(passed) }),
			};
		},
	});
}

/** A compiled query. */
interface Test {
	/** A text that every matching line contains. */
	readonly literal: string;
	/** Checks a line that contains the literal. If missing, every line with the literal matches. */
	readonly pattern?: Pattern;
}

function compileQuery(query: string, isRegex: boolean): Test {
	if (isRegex) {
		try {
			return { literal: findLiteral(query), pattern: compilePattern(query) };
		} catch (error) {
			const remedy = 'Write another one, or a text without regex';
			throw createFieldError('invalid_argument', 'query', `${toMessageText(error)}. ${remedy}.`);
		}
	}
	if (!/[\r\n]/.test(query)) return { literal: query };
	throw createFieldError(
		'invalid_argument',
		'query',
		'has a line break. Lines are searched one by one: give one line.',
	);
}

/** Finds a text that every match of a regular expression contains: the longest that is easy to find. */
function findLiteral(source: string): string {
	if (/[|([]/.test(source)) return '';
	// Cut the source at optional characters, escapes and wildcards.
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
	/** Whether there can be more matches. */
	truncated: boolean;
	/** Lines that were not searched because they are too long for a regular expression, as `PATH:LINE`. */
	readonly passed: string[];
}

/** Searches until there are enough matches, or the limit of work is reached. */
async function searchAll(
	search: Search,
	path: string,
	glob: ReturnType<typeof compileGlob> | undefined,
): Promise<Found> {
	const { workspace, work } = search;
	const found: Found = { matches: [], truncated: false, passed: [] };
	try {
		const info = path === '' ? undefined : await workspace.stat(path);
		for await (const { path: file } of info?.type === 'file' ? [info] : listFiles(workspace, path)) {
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

/** Reads a file piece by piece, and searches each complete line. */
async function searchFile(search: Search, path: string, found: Found): Promise<void> {
	const { workspace, test, work } = search;
	const info = await workspace.stat(path);
	if (info?.type !== 'file' || info.lines === undefined) return;
	const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
	let open: OpenLine = { path, line: 1, text: '', isLong: false, isSettled: false };
	for (let at = 0; at < info.size && !found.truncated; at += bytesAtOnce) {
		const bytes = await workspace.read(path, { from: at, to: at + bytesAtOnce });
		const isEnd = at + bytesAtOnce >= info.size;
		const text = decoder.decode(bytes, { stream: !isEnd });
		// The engine possibly compares each character with the whole literal.
		await work.add(text.length * (perCharacter + perCompared * test.literal.length));
		open = await searchPiece(search, open, text, isEnd, found);
	}
}

/** A line that is not yet read to its end. */
interface OpenLine {
	readonly path: string;
	readonly line: number;
	/** The text of the line so far. For a long line, only the end of this text. */
	readonly text: string;
	/** Whether the line is long, so a part of it was searched already. */
	readonly isLong: boolean;
	/** Whether the search of this line is finished. */
	readonly isSettled: boolean;
}

/** Searches the lines that end in a piece of a file. Returns the incomplete last line. */
async function searchPiece(
	search: Search,
	open: OpenLine,
	piece: string,
	isEnd: boolean,
	found: Found,
): Promise<OpenLine> {
	const { literal } = search.test;
	const { path } = open;
	const lines = `${open.text}${piece}`.split('\n');
	const last = lines.pop() ?? '';
	if (isEnd && last !== '') lines.push(last);
	const rest = isEnd ? '' : last;
	let { line, isLong, isSettled } = open;
	for (const text of lines) {
		if (!isSettled && text.includes(literal))
			await searchLine(search, { path, line, text: text.replace(/\r$/, ''), isLong }, found);
		if (found.truncated) break;
		line++;
		[isLong, isSettled] = [false, false];
	}
	if (rest.length <= longestLine) return { path, line, text: rest, isLong, isSettled };
	if (isSettled || (await searchLine(search, { path, line, text: rest, isLong: true }, found)))
		return { path, line, text: '', isLong: true, isSettled: true };
	// Keep the end of this part, because a match can begin in this part and end in the next part.
	return { path, line, text: rest.slice(-literal.length), isLong: true, isSettled: false };
}

/** Searches a line, or a part of a long line. Returns whether the search of this line is finished. */
async function searchLine(
	{ test: { literal, pattern }, limit, work }: Search,
	{ path, line, text, isLong }: Pick<Match, 'path' | 'line' | 'text'> & Pick<OpenLine, 'isLong'>,
	found: Found,
): Promise<boolean> {
	const at = text.indexOf(literal);
	if (at === -1) return false;
	if (pattern !== undefined && (isLong || text.length > longestLine)) {
		found.passed.push(`${path}:${line}`);
		return true;
	}
	const place = pattern === undefined ? at : await work.do(pattern.find(text, work));
	if (place === -1) return false;
	if (found.matches.length === limit) found.truncated = true;
	else found.matches.push({ path, line, text: cutAround(text, place, shownCharacters) });
	return true;
}

function describePassed(passed: readonly string[]): string {
	const named = passed.slice(0, mostNamed).join(', ');
	const more = passed.length > mostNamed ? ` and ${passed.length - mostNamed} more` : '';
	return `These lines are too long for a regular expression, and were not matched: ${named}${more}. Search them by a text, without regex.`;
}

async function addContext(workspace: Workspace, match: Match, around: number): Promise<Match> {
	if (around === 0) return match;
	const { path, line } = match;
	const first = Math.max(1, line - around);
	const { text, lines, toLine } = await workspace.readLines(path, { fromLine: first, toLine: line + around });
	const shown = text.split('\n').map((one) => cutAround(one.replace(/\r$/, ''), 0, shownCharacters));
	const before = shown.slice(0, line - first);
	const after = shown.slice(line - first + 1, Math.min(toLine, lines) - first + 1);
	return { ...match, before, after };
}
