import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { ChatReply, ChatUsage, OnDelta } from '../../chat/index.ts';
import { withUsage } from '../../chat/model-error.ts';
import { toAbortError } from '../../chat/signal.ts';
import type { Adapter, ModelRequest, ReplyReader } from './adapter.ts';
import { followReply, isLost } from './background.ts';
import { createWireBounds, readBody } from './bounded.ts';
import { done, readEvents } from './events.ts';
import { type Caller, createNotTheApi, readComplaint, toProviderError } from './failure.ts';
import type { Json } from './json.ts';
import type { Prices } from './price.ts';
import { ReplyBuilder } from './reply.ts';

/** One request to a provider. */
export interface ProviderRequest {
	readonly adapter: Adapter;
	readonly request: ModelRequest;
	readonly caller: Caller;
	readonly prices: Prices;
	/** More fields for the body of the request. */
	readonly more: Json;
	/** The tools' own names by alias, if they differ. */
	readonly names: ReadonlyMap<string, string>;
}

/**
 * Sends one request and reads its reply. Resolves at the terminal event of a stream, and does not wait for the stream's
 * end. A failure is a `RunletError` with the usage so far. Calls `onActivity` for each network chunk.
 */
export async function ask(
	{ adapter, request, caller, prices, more, names }: ProviderRequest,
	onDelta: OnDelta,
	onActivity: () => void,
): Promise<ChatReply> {
	const { signal } = request;
	const started = Date.now();
	const reply = new ReplyBuilder(onDelta, adapter.variant, caller.model, names);
	let hasBegun = false;
	const watch = {
		onActivity,
		onBegun: (): void => {
			hasBegun = true;
		},
	};
	const usage = (): ChatUsage => {
		const { raw, usage } = reply.usageSoFar();
		const price = prices.findCost([reply.getModel(), request.model], raw, usage);
		const cost = 'usd' in price ? { costUsd: price.usd } : { costUsd: undefined, unpriced: price.unpriced };
		return { ...usage, ...cost, latencyMs: Date.now() - started };
	};
	const reader = adapter.reader(reply, request);
	const readWhole = (response: Response): Promise<void> =>
		read(response, reader, reply, { ...request, stream: false }, caller, watch);
	try {
		const response = await adapter.send(request, more);
		try {
			await read(response, reader, reply, request, caller, watch);
		} catch (thrown) {
			const goesOn = adapter.background !== undefined && reader.pending?.() !== undefined;
			if (!goesOn || signal.aborted || !isLost(thrown)) throw thrown;
		}
		await followReply({ adapter, request, reader, reply, caller, read: readWhole, onActivity });
		if (reply.isFinished()) return await reply.close(usage());
		throw new RunletError('interrupted', 'the reply broke off before its end.');
	} catch (thrown) {
		const left = reader.pending?.();
		// Whether it could be ended changes nothing for the caller.
		if (left !== undefined) void adapter.background?.cancel(left).catch(() => {});
		const failure = signal.aborted ? toAbortError(signal) : toProviderError(thrown, caller);
		const error = hasBegun ? withBegun(failure) : failure;
		throw Object.keys(reply.usageSoFar().raw).length > 0 ? withUsage(error, usage()) : error;
	}
}

/** Notes in a failure that the reply had begun: the provider may bill what it has read and written until then. */
function withBegun({ code, message, data, cause }: RunletError): RunletError {
	return new RunletError(code, message, { ...data, hasBegun: true }, { cause });
}

async function read(
	response: Response,
	reader: ReplyReader,
	reply: ReplyBuilder,
	{ stream, signal, maxReplyBytes }: ModelRequest,
	caller: Caller,
	{ onActivity, onBegun }: { readonly onActivity: () => void; readonly onBegun: () => void },
): Promise<void> {
	const bounds = createWireBounds(caller.model, maxReplyBytes);
	if (!response.ok) throw await readComplaint(response);
	const type = response.headers.get('content-type') ?? '';
	if (type.includes('text/html')) {
		await response.body?.cancel();
		throw createNotTheApi(caller);
	}
	// A server without streaming may answer with a whole reply.
	if (!stream || type.includes('application/json')) {
		const body = parseBody(await readBody(response, bounds));
		if (isRecord(body)) return reader.body(body);
		if (!Array.isArray(body))
			throw new RunletError('interrupted', 'the answer is no JSON; it was cut or changed on its way.');
		// Google answers with a list of events and errors if server-sent events were not requested.
		for (const event of body.filter(isRecord)) await reader.event(event);
		reader.end?.('eof');
		return;
	}
	const take = (event: Json): undefined | Promise<void> => {
		if (event !== done) {
			const room = reader.event(event);
			onBegun();
			return room;
		}
		reader.end?.('done');
		return undefined;
	};
	const hasEnded = await readEvents(
		response,
		signal,
		{ onChunk: onActivity, take, hasAll: () => reply.isFinished() },
		bounds,
	);
	if (hasEnded && !signal.aborted) reader.end?.('eof');
}

function parseBody(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
