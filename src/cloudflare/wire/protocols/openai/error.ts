import { RunletError, toErrorHeaders, toRunletError } from '../../../../core/base/errors.ts';
import type { ErrorBody } from './completion.ts';

/** Returns an error in the form that OpenAI's clients expect. */
export function errorBody(error: RunletError): ErrorBody {
	const field = typeof error.data?.field === 'string' ? error.data.field : undefined;
	const param = field === undefined ? null : toBracketPath(field);
	const message =
		field !== undefined && error.message.startsWith(field)
			? `${param}${error.message.slice(field.length)}`
			: error.message;
	return { error: { message, type: toErrorType(error), param, code: codes[error.code] ?? error.code } };
}

/** OpenAI's clients retry after 408, 409, 429 and 5xx. If a retry cannot help, a header tells them not to retry. */
export function refusalResponse(thrown: unknown): Response {
	const error = toRunletError(thrown);
	const isBusy = error.code === 'conflict' && error.data?.status === 'running';
	return toErrorResponse(error, isBusy || mayPass.has(error.code));
}

/**
 * Answers for a run that failed or waits for somebody. A retry would repeat the run's costs and the effects of its
 * tools, so the status is one that no client retries: 400 for an invalid request, 402 for a used-up budget, else 406.
 * `openai` and the AI SDK retry 408, 409, 429 and 5xx; LangChain retries everything except 400 to 407, 409 and 413.
 */
export function runFailureResponse(error: RunletError): Response {
	const status = statusFor(error);
	return toErrorResponse(toRunError(error), false, status === 400 || status === 402 ? status : 406);
}

/** Replaces `auth`, because the provider refused the Worker's key, and not the client's key. */
export function toRunError(error: RunletError): RunletError {
	return error.code === 'auth' ? new RunletError('provider_error', error.message, error.data) : error;
}

const mayPass: ReadonlySet<string> = new Set([
	'internal',
	'overloaded',
	'rate_limited',
	'storage_unavailable',
	'timeout',
]);

function toErrorResponse(error: RunletError, mayRetry: boolean, status = statusFor(error)): Response {
	const after = status === error.status ? toErrorHeaders(error) : {};
	return Response.json(errorBody(error), { status, headers: { ...after, 'x-should-retry': String(mayRetry) } });
}

function statusFor({ code, status }: RunletError): number {
	return statuses[code] ?? status;
}

/** The names that OpenAI's clients expect for Runlet's codes. */
const codes: Readonly<Record<string, string>> = {
	auth: 'invalid_api_key',
	rate_limited: 'rate_limit_exceeded',
	context_overflow: 'context_length_exceeded',
	content_filtered: 'content_filter',
};

/** Statuses that differ in this protocol. */
const statuses: Readonly<Record<string, number>> = {
	context_overflow: 400,
	content_filtered: 400,
};

function toErrorType(error: RunletError): string {
	if (error.code === 'budget_exceeded') return 'insufficient_quota';
	if (statusFor(error) === 429) return 'rate_limit_error';
	return statusFor(error) >= 500 ? 'server_error' : 'invalid_request_error';
}

/** Returns a field's path in OpenAI's form: `messages[0].content`. */
function toBracketPath(field: string): string {
	return field.replace(/\.(\d+)(?=\.|$)/g, '[$1]');
}
