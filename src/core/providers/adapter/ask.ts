import type { ChatReply, ChatUsage, OnDelta } from '../../chat/index.ts';
import { withUsage } from '../../chat/model-error.ts';
import { toAbortError } from '../../chat/signal.ts';
import { RunletError } from '../../ground/errors.ts';
import { isRecord } from '../../ground/json.ts';
import type { Adapter, ModelRequest, ReplyReader } from './adapter.ts';
import { readBody, wireBounds } from './bounded.ts';
import { done, eventBatches } from './events.ts';
import { type Caller, createNotTheApi, readComplaint, toProviderError } from './failure.ts';
import { findCost, loadPrices } from './price.ts';
import { ReplyBuilder } from './reply.ts';

/** One question to a provider. */
export interface Asked {
	readonly adapter: Adapter;
	readonly request: ModelRequest;
	readonly caller: Caller;
	/** The tools' own names by their aliases, where they differ. */
	readonly names: ReadonlyMap<string, string>;
}

/**
 * Makes one request and reads its reply: a stream up to its terminal event, and closes it. A failure is a `RunletError`
 * with what the call cost so far. `onActivity` is called at each network chunk.
 */
export async function ask(
	{ adapter, request, caller, names }: Asked,
	onDelta: OnDelta,
	onActivity: () => void,
): Promise<ChatReply> {
	const { signal } = request;
	const started = Date.now();
	const reply = new ReplyBuilder(onDelta, adapter.variant, caller.model, names);
	// Prices load while the model thinks. A failure shows where a price is read.
	loadPrices().catch(() => {});
	const usage = async (): Promise<ChatUsage> => {
		const { raw, usage } = reply.usageSoFar();
		const costUsd = await findCost(adapter.variant, [reply.getModel(), request.model], raw, usage);
		return { ...usage, costUsd, latencyMs: Date.now() - started };
	};
	try {
		const response = await adapter.send(request);
		await read(response, adapter.reader(reply, request), reply, request, caller, onActivity);
		if (reply.isFinished()) return await reply.close(await usage());
		throw new RunletError('interrupted', 'the reply broke off before its end.');
	} catch (thrown) {
		const error = signal.aborted ? toAbortError(signal) : toProviderError(thrown, caller);
		throw Object.keys(reply.usageSoFar().raw).length > 0 ? withUsage(error, await usage()) : error;
	}
}

async function read(
	response: Response,
	reader: ReplyReader,
	reply: ReplyBuilder,
	{ stream, signal, maxReplyBytes }: ModelRequest,
	caller: Caller,
	onActivity: () => void,
): Promise<void> {
	const bounds = wireBounds(caller.model, maxReplyBytes);
	if (!response.ok) throw await readComplaint(response);
	const type = response.headers.get('content-type') ?? '';
	if (type.includes('text/html')) {
		await response.body?.cancel();
		throw createNotTheApi(caller);
	}
	// A server that cannot stream may answer with a whole reply.
	if (!stream || type.includes('application/json')) {
		const body = parseBody(await readBody(response, bounds));
		if (isRecord(body)) return reader.body(body);
		if (!Array.isArray(body))
			throw new RunletError('interrupted', 'the answer is no JSON; it was cut or changed on its way.');
		// Google lists the events of a stream, and errors, where nobody asks for server-sent ones.
		for (const event of body.filter(isRecord)) await reader.event(event);
		reader.end?.('eof');
		return;
	}
	for await (const batch of eventBatches(response, signal, bounds)) {
		onActivity();
		for (const event of batch) {
			if (event === done) {
				reader.end?.('done');
				return;
			}
			const room = reader.event(event);
			if (room !== undefined) await room;
			if (reply.isFinished()) return;
		}
	}
	if (!signal.aborted) reader.end?.('eof');
}

function parseBody(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
