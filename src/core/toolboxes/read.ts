import * as v from 'valibot';
import { toBase64 } from '../base/bytes.ts';
import { createFieldError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { imagePart, textPart } from '../base/part.ts';
import { cutAround } from '../base/text.ts';
import { Work } from '../base/work.ts';
import { define } from '../tool/define.ts';
import { type ConversationText, parts, type Tool } from '../tool/index.ts';
import type { FileInfo, Workspace } from '../workspace/index.ts';
import { filePath, fileReader, folderPath, getWorkspace } from './files.ts';

/** The maximum size of a text in one result, in bytes. */
const mostBytes = 100_000;
/** The maximum size of an image for the model, in bytes. */
const largestImage = 2_900_000;
const shownImages: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const line = v.pipe(v.number(), v.integer(), v.minValue(1));

export function listFilesTool(): Tool {
	return define({
		name: 'list_files',
		description: 'List the files and folders of the workspace, sorted by path.',
		inputSchema: v.object({
			path: v.optional(folderPath),
			recursive: v.optional(v.pipe(v.boolean(), v.description('Also what is in its folders'))),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000), v.description('200'))),
		}),
		passInput: true,
		...fileReader,
		onRequest: ({ path = '' }) => ['Listing files', path === '' ? 'all' : path],
		onResult: (_, { entries, truncated }) => `${entries.length}${truncated ? ' and more' : ''} entries`,
		fn: async ({ path, recursive, limit = 200 }, context) => getWorkspace(context).list({ path, recursive, limit }),
	});
}

export function fileInfoTool(): Tool {
	return define({
		name: 'file_info',
		description: 'Tell what is known of a file without reading it: size, media type, time, number of lines.',
		inputSchema: v.object({ path: filePath }),
		passInput: true,
		...fileReader,
		onRequest: ({ path }) => ['Looking at', path],
		onResult: ({ path }, { type, ...info }) => [path, 'size' in info ? `${type}, ${info.size} bytes` : type],
		fn: async ({ path }, context) => {
			const info = await findInfo(getWorkspace(context), path);
			if (info.type === 'folder') return { ...info, path: info.path === '' ? '.' : info.path };
			const { version: _, ...shown } = info;
			return shown;
		},
	});
}

export function readFileTool(): Tool {
	return define({
		name: 'read_file',
		description:
			'Read a text file, whole or some of its lines, or look at an image. A long file comes in part: toLine says where it ends, and lines how many there are.',
		inputSchema: v.object({
			path: filePath,
			fromLine: v.optional(v.pipe(line, v.description('The first line, from 1; included'))),
			toLine: v.optional(v.pipe(line, v.description('The last line; included'))),
		}),
		passInput: true,
		...fileReader,
		onRequest: ({ path, fromLine, toLine }) => ['Reading', `${path}${showRange(fromLine, toLine)}`],
		onResult: ({ path }, result) => [path, describeReading(result)],
		fn: async ({ path, ...range }, context) => {
			const workspace = getWorkspace(context);
			const info = await findInfo(workspace, path);
			if (info.type === 'file' && shownImages.includes(info.mime)) return readImage(workspace, info);
			const { isCut, ...lines } = await workspace.readLines(path, { ...range, maxBytes: mostBytes });
			return { path: info.path, ...lines, ...(isCut && { truncated: true }) };
		},
	});
}

async function findInfo(workspace: Workspace, path: string) {
	const info = await workspace.stat(path);
	if (info !== undefined) return info;
	// This `read` throws a better error, which names a similar path.
	await workspace.read(path, { to: 0 });
	throw createFieldError('not_found', 'path', `there is no file ${path}.`);
}

async function readImage(workspace: Workspace, { path, mime, size }: FileInfo) {
	if (size > largestImage)
		throw createFieldError(
			'invalid_argument',
			'path',
			`${path} is an image of ${size} bytes, and one of at most ${largestImage} can be shown. Ask for a smaller one.`,
		);
	const bytes = await workspace.read(path);
	return parts([textPart(`${path}: ${mime}, ${size} bytes`), imagePart(toBase64(bytes), mime)]);
}

function describeReading(result: unknown): string {
	if (!isRecord(result) || !('lines' in result)) return 'an image';
	return `lines ${result.fromLine} to ${result.toLine} of ${result.lines}`;
}

function showRange(from: number | undefined, to: number | undefined): string {
	return from === undefined && to === undefined ? '' : `, lines ${from ?? 1} to ${to ?? 'the end'}`;
}

/** The cost of reading a message, in steps, without the cost of its characters. */
const perMessage = 1_000;
/** The maximum number of characters that are shown of a message, around the match. */
const shownCharacters = 2_000;

export function searchConversationTool(): Tool {
	return define({
		name: 'search_conversation',
		description: 'Find earlier messages of this conversation by a text in them, the newest first.',
		inputSchema: v.object({
			query: v.pipe(
				v.string(),
				v.minLength(1),
				v.maxLength(200),
				v.description('A word or a few that stand in the message'),
			),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50), v.description('10'))),
		}),
		passInput: true,
		retry: 'safe',
		isAvailable: ({ readConversation }) => readConversation !== undefined,
		onRequest: ({ query }) => ['Searching the conversation', query],
		onResult: (_, { matches }) => `${matches.length} messages found`,
		fn: async ({ query, limit = 10 }, { readConversation, signal }) => {
			const work = new Work({ signal, field: 'query', remedy: 'Search for a longer text that is rarer.' });
			return { matches: await findMatches(readConversation?.() ?? [], query.toLowerCase(), { limit, work }) };
		},
	});
}

async function findMatches(
	messages: Iterable<ConversationText>,
	query: string,
	{ limit, work }: { readonly limit: number; readonly work: Work },
): Promise<readonly ConversationText[]> {
	const found: ConversationText[] = [];
	for (const { role, text } of messages) {
		const at = text.toLowerCase().indexOf(query);
		if (at !== -1) found.push({ role, text: cutAround(text, at, shownCharacters) });
		if (found.length === limit) break;
		await work.add(perMessage + text.length);
	}
	return found;
}
