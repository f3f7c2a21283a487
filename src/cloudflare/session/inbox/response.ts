import { RunletError } from '../../../core/ground/errors.ts';
import { createProtocol, type Format, type ProtocolContext } from '../../compat/format.ts';
import { logUnexpected } from '../../log.ts';
import type { Handling } from '../../rpc/session.ts';
import type { shownMessage } from '../../wire/message.ts';
import type { Shown } from '../../wire/shown.ts';
import { follow, type Lease } from '../events/follow.ts';
import type { LiveRun } from '../run/run.ts';
import type { MessageRecord } from '../store/messages.ts';
import { toRunStatus } from '../store/status.ts';

/** What stands around a run's answer: of a session that was just created, the status, its place and itself. */
export interface Frame {
	readonly status?: number;
	readonly headers?: Readonly<Record<string, string>>;
	/** Asked when the answer is made: a session whose run has ended says what holds then. */
	readonly about?: () => object;
	/** What the answer's protocol is told of the session. */
	readonly context?: ProtocolContext;
	/** How long its stream may be read. */
	readonly lease?: Lease;
}

/** The work's response, or the error as one: what a session's object answers with, whatever happens. */
export async function answer(work: () => Promise<Response>, format?: Format): Promise<Response> {
	try {
		return await work();
	} catch (error) {
		logUnexpected(error);
		return createProtocol(format).failure(error);
	}
}

/** A run that waits for its turn. */
export interface Upcoming {
	readonly record: { readonly n: number; readonly id: string };
	readonly begun: Promise<LiveRun>;
}

/** A run as its caller wants it: its events, its result once there is one, or only that it was accepted. */
export async function deliver(
	run: LiveRun | Upcoming,
	{ delivery, format }: Pick<Handling, 'delivery' | 'format'>,
	{ status = 200, headers = {}, about = () => ({}), context, lease }: Frame = {},
): Promise<Response> {
	const { record } = run;
	const protocol = createProtocol(format, context);
	if (delivery === 'stream') {
		const log = 'begun' in run ? run.begun.then((live) => live.log) : run.log;
		return eventStream(follow(log, undefined, protocol, lease), status, { ...protocol.headers, ...headers });
	}
	if (delivery === 'accepted') return Response.json({ ...about(), runId: record.id }, { status: 202, headers });
	const live = 'begun' in run ? await run.begun : run;
	const event = await live.ended;
	if (protocol.result !== undefined) {
		const events = live.log.read(live.log.cursor(), Number.POSITIVE_INFINITY).map((stamped) => stamped.event);
		return withHeaders(protocol.result(events), headers);
	}
	if (event.type === 'error')
		return withHeaders(protocol.failure(new RunletError(event.code, event.message, event.data)), headers);
	const { type: _, ...result } = event;
	const ended = { id: record.id, status: toRunStatus(event) };
	const session = about();
	const own = { runId: record.id, ...('run' in session && { run: ended }), ...result, status: ended.status };
	const whole = { ...session, ...own };
	return Response.json(whole, { status, headers });
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
	for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
	return response;
}

/** Bytes of events as a response that no proxy holds back. */
export function eventStream(
	body: ReadableStream<Uint8Array>,
	status = 200,
	headers: Readonly<Record<string, string>> = {},
): Response {
	const own = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
	return new Response(body, { status, headers: { ...own, ...headers } });
}

/** A message as the routes show it: without what only its provider needs. */
export function wireMessage(record: MessageRecord, runId: string | undefined): Shown<typeof shownMessage> {
	const { seq, message, input, inbound, turn, isCut, isReplaced, createdAt } = record;
	const { providerMetadata: _, ...shown } = { providerMetadata: undefined, ...message };
	const attachments = inbound?.attachments?.map(({ name, type, size }) => ({ name, type, size }));
	const about = {
		...(attachments && { attachments }),
		...(turn && { turn }),
		...(isCut === true && { isCut }),
		...(input === true && { isInput: true }),
		...(isReplaced === true && { isReplaced }),
	};
	return { id: String(seq), runId, ...shown, ...about, createdAt: new Date(createdAt).toISOString() };
}
