import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { type Answer, readPieces, type Script } from './script.ts';
import { createSignals } from './signals.ts';

/** A request to the model, with the numbers of its bill. */
export interface Ask {
	readonly tag: string;
	readonly turn: number;
	readonly answer: Answer;
	readonly promptTokens: number;
	/** The number of sent tokens, including the tokens before a cut. */
	completionTokens: number;
	/** `cut` if the client closed the connection before the end. */
	state: 'open' | 'whole' | 'cut';
	/** The time of arrival, by `performance.now()`. */
	readonly at: number;
	/** Milliseconds from the request to the last byte. */
	ms: number;
}

export interface UpstreamOptions {
	readonly script: Script;
	readonly pieceLength: number;
	/** The pause between two chunks, in milliseconds. With 0 the reader sets the speed. */
	readonly paceMs: number;
	/** Whether a chunk waits until a reader has the previous chunk, so that a busy machine does not change the bill. */
	readonly waitsForReader?: boolean;
}

const message = v.looseObject({ role: v.string(), content: v.nullish(v.unknown()) });
const requestBody = v.looseObject({
	model: v.string(),
	stream: v.literal(true),
	messages: v.array(message),
	stream_options: v.object({ include_usage: v.literal(true) }),
});

/**
 * A model behind OpenAI's Chat Completions. Its answer depends on the conversation in the request, and records
 * every request.
 */
export function createUpstream({ script, waitsForReader = false, ...pacing }: UpstreamOptions) {
	const asks: Ask[] = [];
	const finals = createSignals();
	const readers = new Map<string, () => void>();
	const toReader = (tag: string) => new Promise<void>((resolve) => readers.set(tag, resolve));

	return {
		asks: asks as readonly Ask[],
		/** Resolves when the last answer of a run was sent. */
		final: (tag: string): Promise<void> => finals.of(tag),
		isFinal: (tag: string): boolean => finals.has(tag),
		/** Reports that a reader got a part of the answer. */
		read: (tag: string): void => readers.get(tag)?.(),
		spent: (): number => asks.reduce((sum, ask) => sum + ask.promptTokens + ask.completionTokens, 0),
		answer: async (body: unknown, response: ServerResponse): Promise<void> => {
			const at = performance.now();
			const { model, messages, ...rest } = v.parse(requestBody, body);
			const question = messages.findLastIndex(({ role }) => role === 'user');
			const tag = v.parse(v.string(), messages[question]?.content);
			const results = messages.slice(question).flatMap((one) => (one.role === 'tool' ? [String(one.content)] : []));
			const turn = messages.slice(question).filter(({ role }) => role === 'assistant').length;
			const time = asks.filter((ask) => ask.tag === tag && ask.turn === turn).length + 1;
			const answer = script({ tag, turn, time, results });
			const promptTokens = Math.ceil(weigh(JSON.stringify([messages, rest.tools ?? []])));
			const ask: Ask = { tag, turn, answer, promptTokens, completionTokens: 0, state: 'open', at, ms: 0 };
			asks.push(ask);
			await stream(ask, model, response, { ...pacing, ...(waitsForReader && { read: () => toReader(tag) }) });
			if (ask.state === 'whole' && answer.calls.length === 0) finals.give(tag);
		},
	};
}

interface Pacing extends Pick<UpstreamOptions, 'pieceLength' | 'paceMs'> {
	/** Resolves at the next report of a reader. */
	readonly read?: () => Promise<void>;
}

/** Sends an answer. Each chunk follows the previous chunk after the pause. */
async function stream(ask: Ask, model: string, response: ServerResponse, { pieceLength, paceMs, read }: Pacing) {
	const begun = performance.now();
	const { text, calls } = ask.answer;
	const closed = once(response, 'close');
	let written = 0;
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	const send = async (fields: object, cost = ''): Promise<void> => {
		if (response.destroyed) return;
		written += weigh(cost);
		ask.completionTokens = Math.ceil(written);
		const chunk = { id: 'chatcmpl', object: 'chat.completion.chunk', model, ...fields };
		const isRead = read?.();
		if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await Promise.race([once(response, 'drain'), closed]);
		if (paceMs > 0) await pause(paceMs);
		if (isRead !== undefined) await Promise.race([isRead, closed]);
	};
	const choice = (delta: object, finish_reason: string | null = null) => ({
		choices: [{ index: 0, delta, finish_reason }],
	});

	for (const content of readPieces(text, pieceLength)) await send(choice({ content }), content);
	for (const [index, { id, tool, input = { intent: id } }] of calls.entries()) {
		const json = JSON.stringify(input);
		await send(
			choice({ tool_calls: [{ index, id, type: 'function', function: { name: tool, arguments: '' } }] }),
			tool,
		);
		for (const piece of readPieces(json, pieceLength))
			await send(choice({ tool_calls: [{ index, function: { arguments: piece } }] }), piece);
	}
	await send(choice({}, calls.length > 0 ? 'tool_calls' : 'stop'));
	const usage = { prompt_tokens: ask.promptTokens, completion_tokens: ask.completionTokens };
	await send({
		choices: [],
		usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
	});
	response.end('data: [DONE]\n\n');
	await closed;
	ask.state = response.writableFinished ? 'whole' : 'cut';
	ask.ms = performance.now() - begun;
}

/** Counts a quarter token for a Latin letter, and one token for a character of another script. */
function weigh(text: string): number {
	let tokens = 0;
	for (const character of text) tokens += character < '\u0100' ? 1 / 4 : 1;
	return tokens;
}
