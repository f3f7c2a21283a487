import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { sleep, toAbortError } from '../../base/promises.ts';
import type { ChatReply, ChatUsage, OnDelta } from '../../chat/index.ts';
import type { ModelActivity } from '../../chat/model-call.ts';
import { isRetryable, withData, withUsage } from '../../chat/model-error.ts';
import type { Parking } from '../../chat/provider.ts';
import type { Adapter, ModelRequest, ReplyReader } from './adapter.ts';
import { createWireBounds, readBody } from './bounded.ts';
import { done, readEvents } from './events.ts';
import { type Caller, createNotTheApi, ProviderComplaint, toProviderError } from './failure.ts';
import { type Json, readJson } from './json.ts';
import type { Prices } from './price.ts';
import { ReplyBuilder } from './reply.ts';

export interface ProviderRequest {
	readonly adapter: Adapter;
	readonly request: ModelRequest;
	readonly caller: Caller;
	readonly prices: Prices;
	/** Further fields for the body of the request. */
	readonly more: Json;
	/** The tools' own names by alias, if they differ. */
	readonly names: ReadonlyMap<string, string>;
}

interface Exchange {
	readonly request: ModelRequest;
	readonly caller: Caller;
	readonly reply: ReplyBuilder;
	readonly reader: ReplyReader;
	/** Called for each network chunk, and for each answer about a reply in the background. */
	readonly onActivity: ModelActivity;
	/** Returns a promise if the reader of the run lags behind. */
	readonly drain: () => undefined | Promise<unknown>;
	/** Whether a part of a stream was read. */
	hasBegun: boolean;
}

/**
 * Sends one request and reads its reply. Resolves at the terminal event of a stream, without waiting for the end
 * of the stream. A failure is a `RunletError` with the usage so far. Calls `onActivity` for each network chunk.
 */
export async function ask(
	{ adapter, request: given, caller, prices, more, names }: ProviderRequest,
	onDelta: OnDelta,
	onActivity: ModelActivity,
): Promise<ChatReply> {
	const { signal, parking } = given;
	const isParked = adapter.background !== undefined && parking !== undefined && more.background === true;
	// The parts of a parked reply would reach nobody.
	const request = isParked ? { ...given, stream: false } : given;
	const begun = isParked ? parking.findBegun() : undefined;
	const started = Date.now();
	const waits: Promise<void>[] = [];
	const emit = (delta: Parameters<OnDelta>[0]): void => {
		const wait = onDelta(delta);
		if (wait !== undefined) waits.push(wait);
	};
	const drain = () => (waits.length === 0 ? undefined : Promise.all(waits.splice(0)));
	const reply = new ReplyBuilder(emit, adapter.variant, caller.model, names);
	const reader = adapter.reader(reply, request);
	const exchange: Exchange = { request, caller, reply, reader, onActivity, drain, hasBegun: false };
	const usage = (): ChatUsage => {
		const { raw, usage } = reply.usageSoFar();
		const price = prices.findCost([reply.getModel(), request.model], raw, usage);
		const cost = 'usd' in price ? { costUsd: price.usd } : { costUsd: undefined, unpriced: price.unpriced };
		return { ...usage, ...cost, latencyMs: Date.now() - started };
	};
	try {
		try {
			if (begun === undefined) await read(await adapter.send(request, more), exchange, request.stream);
			else reader.resume?.(begun.id);
		} catch (thrown) {
			const continues = adapter.background !== undefined && reader.pending?.() !== undefined;
			if (!continues || signal.aborted || !isLost(thrown)) throw thrown;
		}
		await followReply(adapter, exchange, { parking: isParked ? parking : undefined, isDue: begun !== undefined });
		if (!reply.isFinished()) throw new RunletError('interrupted', 'the reply broke off before its end.');
		const whole = reply.close(usage());
		await drain();
		return whole;
	} catch (thrown) {
		const left = reader.pending?.();
		// The caller gets its own error, even if the cancellation fails.
		if (left !== undefined) void adapter.background?.cancel(left).catch(() => {});
		const failure = signal.aborted ? toAbortError(signal) : toProviderError(thrown, caller);
		// The provider may bill what it has read and written so far.
		const error = exchange.hasBegun ? withData(failure, { hasBegun: true }) : failure;
		throw Object.keys(reply.usageSoFar().raw).length > 0 ? withUsage(error, usage()) : error;
	}
}

async function read(response: Response, exchange: Exchange, stream: boolean): Promise<void> {
	const { request, caller, reply, reader, onActivity, drain } = exchange;
	const { signal, maxReplyBytes } = request;
	const bounds = createWireBounds(caller.model, maxReplyBytes);
	const type = response.headers.get('content-type') ?? '';
	if (type.includes('text/html')) {
		await response.body?.cancel();
		throw createNotTheApi(caller);
	}
	// A server without streaming may answer with a whole reply.
	if (!stream || type.includes('application/json')) {
		const body = readJson(await readBody(response, bounds));
		if (isRecord(body)) reader.body(body);
		else if (Array.isArray(body)) {
			// Google answers with a list of events and errors if server-sent events were not requested.
			for (const event of body.filter(isRecord)) reader.event(event);
			reader.end?.('eof');
		} else throw new RunletError('interrupted', 'the answer is no JSON; it was cut or changed on its way.');
		await drain();
		return;
	}
	const take = (event: Json): undefined | Promise<unknown> => {
		if (event === done) reader.end?.('done');
		else {
			reader.event(event);
			exchange.hasBegun = true;
		}
		return drain();
	};
	const taker = { onChunk: onActivity, take, hasAll: () => reply.isFinished() };
	const hasEnded = await readEvents(response, signal, taker, bounds);
	if (hasEnded && !signal.aborted) reader.end?.('eof');
}

const shortestPauseMs = 500;
const longestPauseMs = 10_000;
/** The number of successive failed requests after which a reply counts as lost. */
const mostFailures = 5;

/**
 * Polls a background reply by its id until the reply is finished. Does nothing for any other reply.
 *
 * @param isDue whether to ask for the reply at once
 */
async function followReply(
	{ background }: Adapter,
	exchange: Exchange,
	{ parking, isDue }: { readonly parking: Parking | undefined; readonly isDue: boolean },
): Promise<void> {
	const { request, caller, reply, reader, onActivity } = exchange;
	const { signal } = request;
	let pause = shortestPauseMs;
	let failures = 0;
	let isNext = isDue;
	for (let id = reader.pending?.(); id !== undefined && background !== undefined; id = reader.pending?.()) {
		if (reply.isFinished()) return;
		if (!isNext && parking !== undefined) {
			const rest = parking.wait({ model: caller.model, id });
			onActivity(rest);
			await rest;
		} else if (!isNext) {
			await sleep(pause, signal);
			pause = Math.min(pause * 1.5, longestPauseMs);
		}
		isNext = false;
		try {
			const response = await background.get(id, signal);
			onActivity();
			await read(response, exchange, false);
			failures = 0;
		} catch (thrown) {
			const error = toProviderError(thrown, caller);
			if (error.data?.status === 404)
				throw new RunletError('interrupted', `the provider has no longer the reply ${id}. Send the message again.`);
			const mayPass = reader.pending?.() !== undefined && isRetryable(error);
			if (!mayPass || signal.aborted || ++failures === mostFailures) throw thrown;
		}
	}
}

/** Whether the connection was lost during a reply, so that the provider may still have the reply. */
function isLost(thrown: unknown): boolean {
	return !(thrown instanceof ProviderComplaint) && !(thrown instanceof RunletError && thrown.code !== 'interrupted');
}
