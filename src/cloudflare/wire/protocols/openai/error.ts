import { type RunletError, toRunletError } from '../../../../core/base/errors.ts';
import { statusFor, toFailureResponse, toRunError, toRunFailureResponse } from '../failure.ts';
import type { ErrorBody } from './completion.ts';

/** Returns an error in the form that OpenAI's clients expect. */
export function errorBody(error: RunletError): ErrorBody {
	const field = typeof error.data?.field === 'string' ? error.data.field : undefined;
	const param = field === undefined ? null : toBracketPath(field);
	const message =
		field !== undefined && error.message.startsWith(field)
			? `${param}${error.message.slice(field.length)}`
			: error.message;
	const isPrevious = error.code === 'not_found' && field === 'previous_response_id';
	const code = isPrevious ? 'previous_response_not_found' : (codes[error.code] ?? error.code);
	return { error: { message, type: toErrorType(error), param, code } };
}

/** Answers a request that began no run. */
export function refusalResponse(thrown: unknown): Response {
	const error = toRunletError(thrown);
	return toFailureResponse(error, errorBody(error));
}

/** Answers for a run that failed or waits for somebody. */
export function runFailureResponse(error: RunletError): Response {
	return toRunFailureResponse(error, errorBody(toRunError(error)));
}

/** The names that OpenAI's clients expect for Runlet's codes. */
const codes: Readonly<Record<string, string>> = {
	auth: 'invalid_api_key',
	rate_limited: 'rate_limit_exceeded',
	context_overflow: 'context_length_exceeded',
	content_filtered: 'content_filter',
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
