/**
 * The providers of the walk: a `fetch` behind the real adapters. It bills the real requests and the bytes that really
 * leave the stream, by the price sheet.
 */

import { isRecord } from '../../../../src/core/base/json.ts';
import type { ProviderRegistration } from '../../../../src/core/chat/index.ts';
import { estimateTokens } from '../../../../src/core/chat/tokens.ts';
import type { Json } from '../../../../src/core/providers/adapter/json.ts';
import * as providers from '../../../../src/core/providers/index.ts';
import { createRandom } from '../../../endurance/random.ts';
import type { Api } from './apis/api.ts';
import { chatCompletions } from './apis/chat.ts';
import { gemini } from './apis/gemini.ts';
import { messages } from './apis/messages.ts';
import { responses } from './apis/responses.ts';
import { createPlan, type Plan } from './plan.ts';
import { countSent } from './sent.ts';
import { bill, createTally, type Tally } from './sheet.ts';

/** A request and its bill. */
export interface Bill {
	/** The session of the walk that asked, or whose child asked. */
	readonly label: string;
	readonly model: string;
	/** The UTC day of the request, counted from 1970. */
	readonly day: number;
	readonly tally: Tally;
	readonly terms: readonly string[];
	/** Whether the provider has sent the whole reply, with its usage. */
	isSaid: boolean;
	readonly isVectors: boolean;
}

/** The state between the walk and its providers. */
export const market = {
	/** Whether the providers offer their models. The models do not exist in other tests. */
	isOpen: false,
	seed: 0,
	bills: [] as Bill[],
	/** The numbers of requests, by label. */
	asked: new Map<string, number>(),
	isCalm: false,
};

export const toUsd = ({ model, tally, terms }: Bill): number => bill(model, tally, terms);
export const toTokens = ({ tally }: Bill): number => tally.input + tally.output;

const dayMs = 86_400_000;

/** Reads the labels in a request. The newest label names the asking session. */
function readLabel(text: string): string {
	return [...text.matchAll(/#in ([\w-]+)/g)].at(-1)?.[1] ?? 'nobody';
}

function findApi(url: string): Api {
	if (url.includes('/messages')) return messages;
	if (url.includes('GenerateContent')) return gemini;
	return url.includes('/responses') ? responses : chatCompletions;
}

const sell: typeof fetch = async (input, init) => {
	const url = input instanceof Request ? input.url : String(input);
	const text = typeof init?.body === 'string' ? init.body : await new Response(init?.body).text();
	const body: unknown = JSON.parse(text);
	if (!isRecord(body)) throw new Error(`no body for ${url}`);
	const model = /models\/([^:/]+):/.exec(url)?.[1] ?? String(body.model);
	const label = readLabel(text);
	const n = (market.asked.get(label) ?? 0) + 1;
	market.asked.set(label, n);
	const random = createRandom(hash(`${market.seed} ${label} ${n}`));
	const about = { label, model, day: Math.floor(Date.now() / dayMs), tally: createTally(), isSaid: false };
	if (url.includes('/embeddings'))
		return sellVectors(body, { ...about, terms: [], isVectors: true }, random(70, 110) / 100);
	const api = findApi(url);
	const offer = api.readOffer(body);
	const plan = createPlan(random, { ...offer, label });
	if (plan.status !== undefined && !market.isCalm) return refuse(plan.status);
	const one: Bill = { ...about, terms: api.readTerms(body), isVectors: false };
	market.bills.push(one);
	const calm: Plan = market.isCalm ? { ...plan, end: 'done', usage: 'said' } : plan;
	// An adapter that expects a whole reply cannot read this stream or its usage.
	const isRead = body.stream === true || url.includes(':stream');
	return stream(api, isRead ? calm : { ...calm, usage: 'none' }, body, one, init?.signal ?? undefined);
};

function refuse(status: number): Response {
	const error = { type: 'api_error', message: 'Not now.', code: status };
	return Response.json({ type: 'error', error }, { status, headers: { 'retry-after': '0' } });
}

function sellVectors(body: Json, one: Bill, share: number): Response {
	const texts = [body.input].flat().map(String);
	market.bills.push(one);
	one.tally.input = texts.reduce((sum, text) => sum + Math.max(1, Math.floor(estimateTokens(text) * share)), 0);
	one.isSaid = true;
	const data = texts.map((text, index) => ({ index, embedding: [text.length % 7, 1] }));
	return Response.json({ data, usage: { prompt_tokens: one.tally.input, total_tokens: one.tally.input } });
}

/** The most thinking tokens in a millisecond. */
const thinkingPace = 0.14;

/** The output of a reply, and its duration. */
interface Written {
	readonly events: readonly Json[];
	readonly ms?: number;
}

/** Runs a reply step by step: bills, then writes. */
function* happen(api: Api, plan: Plan, body: Json, one: Bill): Generator<Written> {
	const { model, tally, terms } = one;
	const sent = countSent(model, body, plan.share * (model.startsWith('claude') ? 1.35 : 1));
	let text = '';
	let isFull = false;
	const most = api.readMost(body) ?? Number.POSITIVE_INFINITY;
	const about = () => ({ model, body, plan, terms, text, tally, isFull });
	/** Lets the model read everything again, with an addition. */
	const read = (more: number): void => {
		const tokens = sent.tokens + more;
		const cached = sent.audio > 0 ? 0 : Math.floor(tokens * plan.cachedShare);
		const kept = api.readCache(body);
		const written = kept === 'none' ? 0 : tokens - cached;
		tally.input += tokens;
		tally.cached += cached;
		tally.written += written;
		tally.hour += kept === '1h' ? written : 0;
		tally.audio += sent.audio;
	};
	/** Writes tokens, if they fit. */
	const write = (tokens: number): boolean => {
		isFull ||= tally.output + tokens > most;
		if (!isFull) tally.output += tokens;
		return !isFull;
	};
	read(0);
	yield { events: api.begin(about()) };
	for (const tokens of [plan.thinking >> 1, plan.thinking - (plan.thinking >> 1)]) {
		if (tokens === 0) continue;
		yield { events: [], ms: tokens / thinkingPace };
		write(Math.min(tokens, most - tally.output));
	}
	if (plan.thought !== '' && write(estimateTokens(plan.thought))) yield { events: api.thought(plan.thought) };
	let added = 0;
	for (const [n, use] of plan.uses.entries()) {
		for (const [unit, count] of Object.entries(api.unitOf(use, model)))
			tally.pieces[unit] = once.has(unit) ? count : (tally.pieces[unit] ?? 0) + count;
		added += use.tokens;
		if (model !== 'gemini-2.5-flash' && model !== 'gemini-3-flash-preview') read(added);
		yield { events: api.use(use, n) };
	}
	for (const piece of plan.pieces) {
		if (!write(estimateTokens(piece))) break;
		text += piece;
		yield { events: api.text(piece) };
	}
	for (const [n, call] of plan.calls.entries()) {
		if (!write(estimateTokens(call.name + JSON.stringify(call.input)))) break;
		yield { events: api.call(call, n) };
	}
	yield { events: api.end(about()) };
	one.isSaid = plan.usage === 'said';
}

/** Units that are billed once per reply. */
const once = new Set(['containers', 'container_minutes', 'searched_prompts']);

function stream(api: Api, plan: Plan, body: Json, one: Bill, signal: AbortSignal | undefined): Response {
	const encoder = new TextEncoder();
	const all = happen(api, plan, body, one);
	let left = plan.end === 'done' ? Number.POSITIVE_INFINITY : plan.after;
	const source = new ReadableStream<Uint8Array>(
		{
			pull: async (controller) => {
				if (left-- <= 0) {
					if (plan.end === 'drops') return controller.close();
					if (plan.end === 'fails') {
						controller.enqueue(encoder.encode(toText(api.error)));
						return controller.close();
					}
					return new Promise((resolve) => {
						const stop = (): void => {
							controller.error(signal?.reason ?? new Error('aborted'));
							resolve();
						};
						if (signal?.aborted) stop();
						else signal?.addEventListener('abort', stop, { once: true });
					});
				}
				const next = all.next();
				if (next.done) {
					if (api.last !== undefined) controller.enqueue(encoder.encode(api.last));
					return controller.close();
				}
				const { events, ms } = next.value;
				if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms));
				// An empty chunk would cause no further pull.
				controller.enqueue(encoder.encode(events.map(toText).join('') || ': nothing\n\n'));
				return undefined;
			},
		},
		{ highWaterMark: 0 },
	);
	return new Response(source, { headers: { 'content-type': 'text/event-stream' } });
}

function toText(event: Json): string {
	const type = typeof event.type === 'string' ? `event: ${event.type}\n` : '';
	return `${type}data: ${JSON.stringify(event)}\n\n`;
}

function hash(text: string): number {
	let value = 0;
	for (let at = 0; at < text.length; at++) value = (Math.imul(value, 31) + text.charCodeAt(at)) | 0;
	return value;
}

const shared = { apiKey: 'k', fetch: sell };
const ownPrice = { '*': { input: 1, output: 4, cachedInput: 0.5, cacheWrite: 2 } };

/** The providers for the Worker under test. Their models exist while the market is open. */
export const sellers: readonly ProviderRegistration[] = [
	providers.anthropic(shared),
	providers.openai(shared),
	providers.gemini(shared),
	providers.openaiChat({ ...shared, name: 'openai', prefix: 'audio/', baseURL: 'https://api.openai.com/v1' }),
	providers.openaiChat({ ...shared, name: 'acme', prefix: 'acme/', baseURL: 'https://acme.test/v1', price: ownPrice }),
].map((one) => ({ ...one, detect: (model) => market.isOpen && one.detect(model) }));
