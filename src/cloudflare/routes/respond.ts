import { html } from 'hono/html';
import { type RunletError, toResponse } from '../../core/base/errors.ts';
import type { Bytes } from '../objects/result.ts';
import { toError } from '../objects/result.ts';
import type { RunOutcome } from '../objects/session-api.ts';

type Headers = Readonly<Record<string, string>>;

const replayed = 'idempotent-replayed';

interface RunResponse {
	/** The status of a run's stream or result, and of a session without a run. */
	readonly status?: number;
	readonly headers?: Headers;
	readonly toFailure?: (error: RunletError) => Response;
}

export function toRunResponse(
	outcome: RunOutcome,
	{ status = 200, headers: extra = {}, toFailure = toResponse }: RunResponse = {},
): Response {
	const headers = outcome.isReplay ? { ...extra, [replayed]: 'true' } : extra;
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

/** Its headers keep proxies from buffering the stream. */
export function toEventStream(body: Bytes, headers: Headers = {}, status = 200): Response {
	const own = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
	return new Response(body, { status, headers: { ...own, ...headers } });
}

export function toJson(body: Bytes, headers: Headers = {}): Response {
	return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
}

export function writePage(content: unknown) {
	return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Runlet</title>
${content}
</html>`;
}

/** Makes each piece when the reader pulls. */
export function toStream(pieces: AsyncGenerator<string | Uint8Array>): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new ReadableStream({
		pull: async (controller) => {
			const { done, value } = await pieces.next();
			if (done) controller.close();
			else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
		},
		cancel: async () => void (await pieces.return(undefined)),
	});
}
