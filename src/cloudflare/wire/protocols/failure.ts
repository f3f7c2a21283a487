/** Failures of protocols whose clients repeat requests by themselves. */
import { RunletError, toErrorHeaders } from '../../../core/base/errors.ts';

/**
 * Answers a request that began no run. The clients of OpenAI and Anthropic retry after 408, 409, 429 and 5xx. If a retry
 * cannot help, a header tells them not to retry.
 */
export function toFailureResponse(error: RunletError, body: object, status = statusFor(error)): Response {
	const isBusy = error.code === 'conflict' && error.data?.status === 'running';
	return createResponse(error, body, { status, mayRetry: isBusy || mayPass.has(error.code) });
}

/**
 * Answers for a run that failed or waits for somebody. A retry would repeat the run's costs and the effects of its
 * tools, so the status is one that no client retries: 400 for an invalid request, 402 for a used-up budget, else 406.
 * The packages of OpenAI and Anthropic and the AI SDK retry 408, 409, 429 and 5xx; LangChain retries everything except
 * 400 to 407, 409 and 413.
 */
export function toRunFailureResponse(error: RunletError, body: object): Response {
	const status = statusFor(error);
	return createResponse(error, body, { status: status === 400 || status === 402 ? status : 406, mayRetry: false });
}

/** Replaces `auth`, because the provider refused the Worker's key, and not the client's key. */
export function toRunError(error: RunletError): RunletError {
	return error.code === 'auth' ? new RunletError('provider_error', error.message, error.data) : error;
}

/** Returns the status of an error in these protocols. */
export function statusFor({ code, status }: RunletError): number {
	return code === 'context_overflow' || code === 'content_filtered' ? 400 : status;
}

const mayPass: ReadonlySet<string> = new Set([
	'internal',
	'overloaded',
	'rate_limited',
	'storage_unavailable',
	'timeout',
]);

interface Terms {
	readonly status: number;
	readonly mayRetry: boolean;
}

function createResponse(error: RunletError, body: object, { status, mayRetry }: Terms): Response {
	const headers = mayRetry || status === error.status ? toErrorHeaders(error) : {};
	return Response.json(body, { status, headers: { ...headers, 'x-should-retry': String(mayRetry) } });
}
