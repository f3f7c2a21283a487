import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reading } from './expected.ts';
import { anthropic } from './expected-anthropic.ts';
import { chatCompletions } from './expected-chat.ts';
import { isError, readStatus } from './expected-error.ts';
import { gemini } from './expected-gemini.ts';
import { responses } from './expected-responses.ts';
import { at, count, list, text } from './json.ts';

export type Api = 'anthropic' | 'openai' | 'xai' | 'gemini' | 'chat';

/** One answer of a provider. A recording has one or more answers. */
export interface Recorded {
	/** The path of the recording, relative to the folder of all recordings. */
	readonly file: string;
	readonly name: string;
	readonly api: Api;
	/** The provider, for Chat Completions. */
	readonly provider: string;
	readonly model: string;
	readonly reading: Reading;
}

export interface RecordedBody extends Recorded {
	readonly status: number;
	readonly bytes: Uint8Array;
	readonly body: unknown;
}

export interface RecordedStream extends Recorded {
	readonly blocks: readonly Block[];
}

/** A block of a stream up to a blank line. Comments and the last line of Chat Completions have no `event`. */
export interface Block {
	readonly source: string;
	readonly event?: unknown;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../fixtures/recordings');

/** Files without an answer to a request of an adapter. All other files are played. */
export const notAnswers: Readonly<Record<string, string>> = {
	'openai-responses/issue-12842-input-file-text-csv-success.json':
		"a result of the AI SDK (`modelId`, `inputTokens`), without the provider's body",
	'raw/openai-responses/test_openai_responses--test_background_mode_vcr.1.json':
		'a look at a background response that is still running (GET /v1/responses/ID, `in_progress`, no output)',
	'raw/openai-responses/test_openai_responses--test_openai_responses_compact_messages.2.json':
		'the answer of another endpoint (POST /v1/responses/compact, `response.compaction`)',
};

const apis: Readonly<Record<string, Api>> = {
	anthropic: 'anthropic',
	google: 'gemini',
	'openai-responses': 'openai',
	'xai-responses': 'xai',
};

const models: Readonly<Record<Api, string>> = {
	anthropic: 'claude-sonnet-4-5',
	openai: 'gpt-5',
	xai: 'grok-4',
	gemini: 'gemini-2.5-flash',
	chat: 'some-model',
};

interface Entry {
	readonly file: string;
	readonly model: string;
	/** The recorded status, or `undefined` if only the body was recorded. */
	readonly status: number | undefined;
}

/** All files that an `INDEX.tsv` names. */
export const entries: readonly Entry[] = folders().flatMap((folder) => {
	const [header = '', ...lines] = readFileSync(join(root, folder, 'INDEX.tsv'), 'utf8')
		.trim()
		.split('\n');
	const columns = header.split('\t');
	return lines.map((line) => {
		const row = new Map(line.split('\t').map((cell, index) => [columns[index], cell]));
		const status = row.get('status');
		return {
			file: `${folder}/${row.get('file')}`,
			model: row.get('model') ?? '',
			status: status === undefined ? undefined : Number(status),
		};
	});
});

/** All recordings in the folders. */
export const files: readonly string[] = folders().flatMap((folder) =>
	readdirSync(join(root, folder), { withFileTypes: true })
		.filter((entry) => entry.isFile() && entry.name !== 'INDEX.tsv')
		.map((entry) => `${folder}/${entry.name}`),
);

const played = entries.filter(({ file }) => notAnswers[file] === undefined);
export const bodies: readonly RecordedBody[] = played.filter(({ file }) => file.endsWith('.json')).flatMap(readBodies);
export const streams: readonly RecordedStream[] = played
	.filter(({ file }) => !file.endsWith('.json'))
	.flatMap(readStreams);

function folders(): string[] {
	const names = (folder: string) =>
		readdirSync(join(root, folder), { withFileTypes: true })
			.filter((entry) => entry.isDirectory() && entry.name !== 'raw')
			.map(({ name }) => join(folder, name));
	return [...names('.'), ...names('raw')];
}

function load(file: string): string {
	return readFileSync(join(root, file), 'utf8');
}

/** Reads the answers in a `.json`: the file itself, or the content of a live recording. */
function readBodies({ file, model, status }: Entry): RecordedBody[] {
	const source = load(file);
	const content: unknown = JSON.parse(source);
	const wrapped = [
		...list(content, 'responseBodies'),
		...['sdkFinalResponse', 'correctedResponse'].map((key) => at(content, key)),
		at(content, 'response', 'body'),
	].filter((body) => body !== undefined);
	const found = wrapped.length > 0 ? wrapped : [content];
	return found.map((body, index) => ({
		...identify(file, body, model, found.length > 1 ? index : undefined),
		status: status ?? count(content, 'response', 'status') ?? (isError(body) ? readStatus(body) : 200),
		bytes: new TextEncoder().encode(wrapped.length > 0 ? JSON.stringify(body) : source),
		body,
	}));
}

/** Reads the answers in a stream. Each step has one answer. */
function readStreams({ file, model }: Entry): RecordedStream[] {
	const source = load(file);
	const { api } = identify(file, undefined, model);
	const blocks = file.endsWith('.sse') ? readBlocks(source) : wrapLines(source, api);
	const steps: Block[][] = [];
	for (const block of blocks) {
		const begins = ['message_start', 'response.created'].includes(text(block.event, 'type'));
		if (begins || steps.length === 0) steps.push([]);
		steps.at(-1)?.push(block);
	}
	return steps.map((step, index) => ({
		...identify(file, step[0]?.event, model, steps.length > 1 ? index : undefined),
		blocks: step,
	}));
}

function readBlocks(source: string): Block[] {
	const sources = source.match(/[\s\S]+?(?:\r?\n\r?\n|$)/g) ?? [];
	return sources.map((block) => {
		const data = block
			.split(/\r?\n/)
			.filter((line) => line.startsWith('data:'))
			.map((line) => line.slice('data:'.length).trim())
			.join('\n');
		return data === '' || data === '[DONE]' ? { source: block } : { source: block, event: JSON.parse(data) };
	});
}

/** Wraps events that were stored without their envelope. */
function wrapLines(source: string, api: Api): Block[] {
	const blocks = source
		.split('\n')
		.filter((line) => line.trim() !== '')
		.map((line): Block => {
			const event: unknown = JSON.parse(line);
			if (api === 'gemini') return { source: `data: ${line}\r\n\r\n`, event };
			if (api === 'chat') return { source: `data: ${line}\n\n`, event };
			return { source: `event: ${text(event, 'type')}\ndata: ${line}\n\n`, event };
		});
	return api === 'chat' ? [...blocks, { source: 'data: [DONE]\n\n' }] : blocks;
}

function identify(file: string, first: unknown, model: string, step?: number): Recorded {
	const folder = basename(dirname(file));
	// One answer of xAI's Chat API is among the answers of its Responses API.
	const api = text(first, 'object') === 'chat.completion' ? 'chat' : (apis[folder] ?? 'chat');
	const provider = readProvider(folder, basename(file));
	return {
		file,
		name: step === undefined ? file : `${file} (${step + 1})`,
		api,
		provider,
		model: model || models[api],
		reading: readReading(api, provider),
	};
}

/** Returns the provider of an answer in a folder with several providers. */
function readProvider(folder: string, name: string): string {
	if (folder.startsWith('xai')) return 'xai';
	if (folder === 'openai-chat') return 'openai';
	if (folder === 'google-openai-compat') return 'google';
	if (folder !== 'openai-compatible') return folder;
	return /alibaba|siliconflow|xai|zai_|huggingface|cerebras/.exec(name)?.[0].replace('_', '') ?? 'openai';
}

function readReading(api: Api, provider: string): Reading {
	if (api === 'anthropic') return anthropic;
	if (api === 'gemini') return gemini;
	if (api === 'chat') return chatCompletions({ reasoningBeside: provider === 'xai' });
	return responses;
}
