/** Asks a provider for its models. This shows whether the key and the address are right, and costs nothing. */

import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import type { Access } from './access.ts';

const limitMs = 15_000;
const mostBytes = 4_000_000;
const mostModels = 200;

/** The lists of Anthropic and of APIs like OpenAI's. */
const dataList = v.object({
	data: v.array(
		v.looseObject({ id: v.string(), created: v.optional(v.unknown()), created_at: v.optional(v.unknown()) }),
	),
});
const geminiList = v.object({
	models: v.array(v.object({ name: v.string(), supportedGenerationMethods: v.optional(v.array(v.string()), []) })),
});
const complaint = v.union([
	v.pipe(
		v.looseObject({ error: v.looseObject({ message: v.string() }) }),
		v.transform(({ error }) => error.message),
	),
	v.pipe(
		v.looseObject({ error: v.string() }),
		v.transform(({ error }) => error),
	),
	v.pipe(
		v.looseObject({ message: v.string() }),
		v.transform(({ message }) => message),
	),
]);

/** Models of OpenAI, xAI and others that do not chat. */
const noChat =
	/embed|whisper|tts|audio|realtime|transcribe|image|imagine|moderation|instruct|dall-e|sora|ocr|guard|video|aqa/i;
/** The names with which Runlet asks these providers; models of other names would go elsewhere (docs/models.md). */
const ownNames: Readonly<Record<string, RegExp>> = {
	ANTHROPIC: /^claude/,
	OPENAI: /^(gpt|o1|o3|o4|chatgpt)/,
	GEMINI: /^gemini/,
	XAI: /^grok/,
};

/** Returns the models as Runlet names them, the newest first. Throws an error with the provider's own words. */
export async function listModels(access: Access): Promise<readonly string[]> {
	const { provider, baseUrl } = access;
	const { status, text } = await ask(access);
	const json = parseJson(text);
	if (status === 401 || status === 403 || (status >= 400 && v.is(complaint, json))) throw refuse(access, status, json);
	const names = readNames(json);
	if (status >= 400 || names === undefined)
		throw new RunletError(
			'invalid_request',
			`baseUrl: ${baseUrl} answers, but not with a list of models (status ${status}). Is this the address of the API?`,
		);
	const own = ownNames[provider.name];
	const usable = names.filter((name) => !noChat.test(name) && own?.test(name) !== false);
	if (usable.length === 0)
		throw new RunletError('invalid_request', `${provider.title} accepts this, but lists no model that can chat.`);
	return usable.slice(0, mostModels).map((name) => `${provider.prefix ?? ''}${name}`);
}

async function ask(access: Access): Promise<{ readonly status: number; readonly text: string }> {
	const { url, headers } = toRequest(access);
	try {
		// A redirect could carry the key to somebody else.
		const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(limitMs) });
		return { status: response.status, text: await readSome(response) };
	} catch (cause) {
		const isLate = cause instanceof DOMException && cause.name === 'TimeoutError';
		const why = isLate ? `no answer within ${limitMs / 1_000} s` : readCode(cause);
		const message = `baseUrl: ${access.baseUrl} cannot be reached (${why}). Is the address right, and does the server run?`;
		throw new RunletError('invalid_request', message, undefined, { cause });
	}
}

/** Sends the key as the adapters do, so that what works here works in a chat. */
function toRequest({ provider, baseUrl, key }: Access): { url: string; headers: Record<string, string> } {
	if (provider.name === 'GEMINI')
		return { url: `${baseUrl}/v1beta/models?pageSize=1000`, headers: { 'x-goog-api-key': key ?? '' } };
	const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
	if (provider.name !== 'ANTHROPIC') return { url: `${baseUrl}/models`, headers };
	return { url: `${baseUrl}/v1/models?limit=1000`, headers: { ...headers, 'anthropic-version': '2023-06-01' } };
}

async function readSome(response: Response): Promise<string> {
	const decoder = new TextDecoder();
	let text = '';
	for await (const chunk of response.body ?? []) {
		text += decoder.decode(chunk, { stream: true });
		if (text.length > mostBytes) break;
	}
	return text;
}

function readNames(json: unknown): readonly string[] | undefined {
	if (v.is(geminiList, json)) {
		const { models } = v.parse(geminiList, json);
		const chats = models.filter(({ supportedGenerationMethods: ways }) => ways.includes('generateContent'));
		return chats.map(({ name }) => name.replace(/^models\//, '')).reverse();
	}
	const parsed = v.safeParse(dataList, json);
	if (!parsed.success) return undefined;
	const toTime = ({ created, created_at: at }: (typeof parsed.output.data)[number]) =>
		typeof created === 'number' ? created * 1_000 : typeof at === 'string' ? Date.parse(at) || 0 : 0;
	return parsed.output.data.toSorted((one, other) => toTime(other) - toTime(one)).map(({ id }) => id);
}

function refuse({ provider, key }: Access, status: number, json: unknown): RunletError {
	const said = v.safeParse(complaint, json);
	const whole = said.success ? said.output : '';
	const words = (key === undefined ? whole : whole.replaceAll(key, '…')).slice(0, 300);
	const field = status === 401 || status === 403 ? 'key: ' : '';
	const quoted = words === '' ? `with status ${status}` : `and says: “${words}”`;
	return new RunletError('invalid_request', `${field}${provider.title} refuses this (${status}) ${quoted}`);
}

function readCode(error: unknown): string {
	const cause = error instanceof Error ? error.cause : undefined;
	const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
	return typeof code === 'string' ? code : 'no connection';
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
