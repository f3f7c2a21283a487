import type { RunletError } from '../../../../core/base/errors.ts';
import { statusFor, toFailureResponse, toRunError, toRunFailureResponse } from '../failure.ts';
import type { ErrorBody } from './answer.ts';

/** Answers a request that began no run, in the form that Anthropic's clients expect. */
export function refusalResponse(error: RunletError, requestId: string): Response {
	const status = toStatus(error);
	return withId(
		toFailureResponse(error, createBody(error, types[status] ?? toOther(status), requestId), status),
		requestId,
	);
}

/** Answers for a run that failed or waits for somebody. */
export function runFailureResponse(error: RunletError, requestId: string): Response {
	return withId(toRunFailureResponse(error, toRunErrorBody(error, requestId)), requestId);
}

/**
 * Returns the error of a run, for a stream. It is never one of the types that clients repeat, because a second run would
 * repeat the costs and the effects.
 */
export function toRunErrorBody(thrown: RunletError, requestId: string): ErrorBody {
	const error = toRunError(thrown);
	const status = toStatus(error);
	return createBody(error, status === 402 ? 'billing_error' : toOther(status), requestId);
}

function createBody({ message, code, data }: RunletError, type: string, request_id: string): ErrorBody {
	const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
	return { type: 'error', error: { type, message, code, ...(data?.field === 'thread' && { details }) }, request_id };
}

function withId(response: Response, requestId: string): Response {
	response.headers.set('request-id', requestId);
	return response;
}

/** Anthropic's status for too much load is 529. */
function toStatus(error: RunletError): number {
	return error.code === 'overloaded' ? 529 : statusFor(error);
}

const types: Readonly<Record<number, string>> = {
	401: 'authentication_error',
	402: 'billing_error',
	403: 'permission_error',
	404: 'not_found_error',
	408: 'timeout_error',
	413: 'request_too_large',
	429: 'rate_limit_error',
	529: 'overloaded_error',
};

function toOther(status: number): string {
	return status >= 500 || status === 408 || status === 429 ? 'api_error' : 'invalid_request_error';
}
