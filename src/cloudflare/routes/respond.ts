import { type RunletError, toResponse } from '../../core/base/errors.ts';
import type { Bytes } from '../objects/result.ts';
import { toError } from '../objects/result.ts';
import type { RunOutcome } from '../objects/session-api.ts';

type Headers = Readonly<Record<string, string>>;

/** The header of an answer that repeats an earlier one for the same key. */
const replayed = 'idempotent-replayed';

/** How to write an outcome. */
interface RunResponse {
	/** The status of a run's stream or result, and of a session without a run. */
	readonly status?: number;
	readonly headers?: Headers;
	/** Writes the failure of a run. */
	readonly toFailure?: (error: RunletError) => Response;
}

/** Turns the outcome of a request for a run into a response. */
export function toRunResponse(
	outcome: RunOutcome,
	{ status = 200, headers: given = {}, toFailure = toResponse }: RunResponse = {},
): Response {
	const headers = outcome.isReplay ? { ...given, [replayed]: 'true' } : given;
	switch (outcome.kind) {
		case 'stream':
			return toEventStream(outcome.stream, headers, status);
		case 'accepted':
			return Response.json({ ...outcome.created, runId: outcome.runId }, { status: 202, headers });
		case 'result': {
			const { result, created } = outcome;
			const run = created && { run: { id: result.runId, status: result.status } };
			return Response.json({ ...created, ...run, ...result }, { status, headers });
		}
		case 'completion':
			return Response.json(outcome.completion, { status, headers });
		case 'session':
			return Response.json(outcome.session, { status, headers });
		case 'failed': {
			const response = toFailure(toError(outcome.error));
			for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
			return response;
		}
	}
}

/** Returns a response with an event stream. Its headers keep proxies from buffering it. */
export function toEventStream(body: Bytes, headers: Headers = {}, status = 200): Response {
	const own = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
	return new Response(body, { status, headers: { ...own, ...headers } });
}

/** Returns a response with JSON bytes. */
export function toJson(body: Bytes, headers: Headers = {}): Response {
	return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
}
