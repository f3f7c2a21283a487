import { RunletError, toErrorHeaders, toRunletError } from '../../../core/ground/errors.ts';
import type { ErrorBody } from './schema.ts';

/** A failure in the form that OpenAI's clients expect. */
export function errorBody(error: RunletError): ErrorBody {
	const field = typeof error.data?.field === 'string' ? error.data.field : undefined;
	const param = field === undefined ? null : toBracketPath(field);
	const message =
		field !== undefined && error.message.startsWith(field)
			? `${param}${error.message.slice(field.length)}`
			: error.message;
	return { error: { message, type: toErrorType(error), param, code: codes[error.code] ?? error.code } };
}

/**
 * A request that was refused. OpenAI's clients send again what is answered with 408, 409, 429 or 5xx; they are told not
 * to where it would not help.
 */
export function refusalResponse(thrown: unknown): Response {
	const error = toRunletError(thrown);
	const isBusy = error.code === 'conflict' && error.data?.status === 'running';
	return toErrorResponse(error, isBusy || mayPass.has(error.code));
}

/**
 * A run that gave no answer: it failed, or waits for somebody. Sent again it would have its costs, and its tools'
 * effects, once more, so it has a status that no client tries again by itself. `openai` and the AI SDK try again what is
 * 408, 409, 429 or 5xx, LangChain all but 400 to 407, 409 and 413. `406` says it: there is nothing to show in this
 * protocol; what is the request's own fault stays `400`, a budget `402`.
 */
export function runFailureResponse(error: RunletError): Response {
	const status = statusFor(error);
	return toErrorResponse(toRunError(error), false, status === 400 || status === 402 ? status : 406);
}

/** A run's failure as it is shown: where a provider refuses the Worker's key, the client's own is not what is wrong. */
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

/** Runlet's codes under the names that OpenAI's clients know. */
const codes: Readonly<Record<string, string>> = {
	auth: 'invalid_api_key',
	rate_limited: 'rate_limit_exceeded',
	context_overflow: 'context_length_exceeded',
	content_filtered: 'content_filter',
};

/** Statuses that are other ones in this protocol. */
const statuses: Readonly<Record<string, number>> = {
	context_overflow: 400,
	content_filtered: 400,
};

function toErrorType(error: RunletError): string {
	if (error.code === 'budget_exceeded') return 'insufficient_quota';
	if (error.code === 'rate_limited') return 'rate_limit_error';
	return statusFor(error) >= 500 ? 'server_error' : 'invalid_request_error';
}

/** A field's path as OpenAI writes it: `messages[0].content`. */
function toBracketPath(field: string): string {
	return field.replace(/\.(\d+)(?=\.|$)/g, '[$1]');
}
