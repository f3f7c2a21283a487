/** The models of the hundred recorded sessions: a stand-in for three providers, which reads and writes their real wires. */

import { vi } from 'vitest';
import { anthropic } from '../core/providers/wire/anthropic.ts';
import { type Dialect, sse, type WireRequest } from '../core/providers/wire/dialect.ts';
import { gemini } from '../core/providers/wire/gemini.ts';
import { openai } from '../core/providers/wire/responses.ts';
import cacheRead from '../fixtures/recordings/anthropic/anthropic-issue-5942-cache-read.chunks.txt?raw';
import parallel from '../fixtures/recordings/anthropic/anthropic-issue-15652-false.chunks.txt?raw';
import reasoning from '../fixtures/recordings/google/google-reasoning-gemini3.chunks.txt?raw';
import parallelPartial from '../fixtures/recordings/google/google-stream-no-args-tool-call.chunks.txt?raw';
import toolCall from '../fixtures/recordings/google/google-tool-call.chunks.txt?raw';
import encrypted from '../fixtures/recordings/openai-responses/openai-reasoning-encrypted-content.1.chunks.txt?raw';
import thinking from '../fixtures/recordings/raw/anthropic/test_anthropic--test_anthropic_model_thinking_part_redacted_stream.0.sse?raw';

/** A reply of a model: calls, a text, or the events that a real provider sent. */
export interface Reply {
	readonly reasoning?: string;
	readonly text?: string;
	readonly calls?: readonly (readonly [name: string, input: object])[];
	readonly events?: readonly string[];
	/** Happens while the model answers, once. */
	readonly meanwhile?: () => Promise<unknown>;
	/** Whether the reply never ends, the first time. */
	readonly hangs?: boolean;
}

/** The replies to each message, by the tag in the message, such as `#12-3`. */
export const plans = new Map<string, readonly Reply[]>();

/** What the stand-in did: its requests by provider, and the requests that an API would refuse. */
export const seen = { requests: new Map<string, number>(), faults: [] as string[] };

const happened = new Set<Reply>();

/** What models wait for. The test does it, because an object that calls itself cannot die. */
const pauses: NonNullable<Reply['meanwhile']>[] = [];

/** Opens when the work of a pause is done. The test makes it: no object may wait for a promise of another. */
let gate = Promise.withResolvers<void>();

/** Does what happens while the models answer, until the work has ended. */
export async function doMeanwhile<T>(work: Promise<T>): Promise<T> {
	let isOver = false;
	const ended = work.finally(() => {
		isOver = true;
	});
	while (!isOver) {
		await vi.waitUntil(() => isOver || pauses.length > 0, { interval: 2, timeout: 120_000 });
		const { resolve: goOn } = gate;
		gate = Promise.withResolvers();
		await pauses.shift()?.();
		goOn();
	}
	return ended;
}

/** Answers the request of an adapter by the plan of the newest tag. A reply without a plan is a text. */
export async function answer(body: unknown, url: string): Promise<Response> {
	const dialect = url.includes('/messages') ? anthropic : url.includes('GenerateContent') ? gemini : openai;
	seen.requests.set(dialect.name, (seen.requests.get(dialect.name) ?? 0) + 1);
	try {
		const { tag, turn } = findPlace(dialect.readRequest(body, new URL(url).pathname));
		const reply = plans.get(tag)?.[turn] ?? { text: `That is all of ${tag}.` };
		const isFirst = !happened.has(reply);
		if (reply.meanwhile !== undefined && isFirst) {
			happened.add(reply);
			pauses.push(reply.meanwhile);
			await gate.promise;
		}
		// An object that died before its run was cancelled asks again.
		if (reply.hangs && isFirst) return new Promise(() => {});
		return stream(reply.events ?? writeEvents(dialect, reply, `${tag}-${turn}`));
	} catch (error) {
		seen.faults.push(`${dialect.name}: ${error}`);
		throw error;
	}
}

/** Finds the newest message with a tag, and the number of replies since. */
function findPlace({ turns }: WireRequest): { readonly tag: string; readonly turn: number } {
	const tags = turns.map(({ role, parts }) =>
		role === 'assistant'
			? undefined
			: parts.flatMap((part) => (part.kind === 'text' ? [...part.text.matchAll(/#([\d-]+\w*)/g)] : [])).at(-1)?.[1],
	);
	const at = tags.findLastIndex((tag) => tag !== undefined);
	const turn = turns.slice(at + 1).filter(({ role }) => role === 'assistant').length;
	return { tag: tags[at] ?? '', turn };
}

function writeEvents(dialect: Dialect, { reasoning, text, calls = [] }: Reply, id: string): readonly string[] {
	return dialect.events({
		...(reasoning !== undefined && { reasoning }),
		...(text !== undefined && { text }),
		calls: calls.map(([name, input], at) => ({ id: `call_${id}-${at}`, name, argumentsJson: JSON.stringify(input) })),
		stop: calls.length > 0 ? 'tool_use' : 'end_turn',
		usage: { input: 100, output: 40, cached: 25, reasoning: 12 },
	});
}

/** Sends each event by itself. */
function stream(events: readonly string[]): Response {
	const left = [...events];
	const body = new ReadableStream({
		pull: (controller) => {
			const next = left.shift();
			if (next === undefined) controller.close();
			else controller.enqueue(new TextEncoder().encode(next));
		},
	});
	return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** Wraps recorded events, one JSON a line, into those of a stream. */
function wrap(lines: string): readonly string[] {
	return lines
		.split('\n')
		.filter((line) => line.trim() !== '')
		.map((line) => sse(line, /^\{"type":\s*"([\w.]+)"/.exec(line)?.[1]));
}

/** Splits the events of several replies. */
function split(events: readonly string[]): readonly Reply[] {
	const replies: string[][] = [];
	for (const event of events) {
		if (event.includes('event: response.created\n')) replies.push([]);
		replies.at(-1)?.push(event);
	}
	return replies.map((events) => ({ events }));
}

/** What real providers sent, as replies to a message, by provider. */
export const recorded: Readonly<Record<string, readonly (readonly Reply[])[]>> = {
	anthropic: [[{ events: wrap(parallel) }], [{ events: [thinking] }], [{ events: wrap(cacheRead) }]],
	openai: [split(wrap(encrypted)), split(wrap(encrypted)).slice(0, 1)],
	gemini: [[{ events: wrap(toolCall) }], [{ events: wrap(reasoning) }], [{ events: wrap(parallelPartial) }]],
};
