import { RunletError, toMessageText } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';

import type { ChatUsage } from './usage.ts';

/** Codes of failures that may pass when the same request is sent again. */
const retryable: ReadonlySet<string> = new Set(['rate_limited', 'overloaded', 'timeout', 'network', 'interrupted']);

/** Codes of the connection errors of Node, undici and Bun. */
const connectionCodes =
	/^(ECONN\w+|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/;

/** Texts under which `fetch` reports a lost connection, in Workers, Node, Bun, Deno and browsers. */
const connectionTexts =
	/network connection lost|fetch failed|failed to fetch|connection (error|reset|refused|closed)|socket hang up|terminated/i;

/**
 * Any failure of a model call as a `RunletError`. A `RunletError` stays as it is; the code of any other follows from its
 * `status`, then its `code`, then its text.
 */
export function toModelError(error: unknown, model: string): RunletError {
	if (error instanceof RunletError) return error;
	const status = readNumber(error, 'status') ?? readNumber(error, 'statusCode');
	const code = readCauseCode(error);
	const retryAfter = readRetryAfter(error);
	const insufficientQuota = code === 'insufficient_quota' ? true : undefined;
	const data = { model, status, insufficientQuota, retryAfter };
	const text = toMessageText(error);
	// The loop looks at its own signal first, so somebody else aborted this call.
	if (isAbort(error))
		return new RunletError('interrupted', `${model}: the call was broken off.`, data, { cause: error });
	const kind = status === undefined ? findCode(code, text) : findStatusCode(status);
	return new RunletError(kind, `${model}: ${text}${remedies[kind] ?? ''}`, data, { cause: error });
}

/** Whether sending the same request again may help. */
export function isRetryable(error: RunletError): boolean {
	return retryable.has(error.code) && error.data?.insufficientQuota !== true;
}

/** The failure, with what was spent until then in its data. */
export function withUsage(error: RunletError, usage: ChatUsage): RunletError {
	if (Object.keys(usage).length === 0) return error;
	return new RunletError(error.code, error.message, { ...error.data, usage }, { cause: error.cause ?? error });
}

/** What a failed call cost, as far as it was seen. */
export function readUsage({ data }: RunletError): ChatUsage | undefined {
	const usage = data?.usage;
	return typeof usage === 'object' && usage !== null ? usage : undefined;
}

/** Seconds that the provider of a failed call asks to wait, if it does. */
export function readRetryAfter(error: unknown): number | undefined {
	if (error instanceof RunletError) return readNumber(error.data, 'retryAfter');
	const own = readNumber(error, 'retryAfter');
	if (own !== undefined) return own;
	const headers: unknown = isRecord(error) || error instanceof Error ? Reflect.get(error, 'headers') : undefined;
	const value =
		headers instanceof Headers ? headers.get('retry-after') : isRecord(headers) ? headers['retry-after'] : undefined;
	return typeof value === 'string' ? parseRetryAfter(value) : undefined;
}

/** A `retry-after` header in seconds, from its number or its date (RFC 9110, 10.2.3). */
export function parseRetryAfter(value: string, now: number = Date.now()): number | undefined {
	const seconds = Number(value);
	if (value.trim() !== '' && Number.isFinite(seconds)) return Math.max(0, seconds);
	const date = Date.parse(value);
	return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}

const remedies: Readonly<Record<string, string>> = {
	auth: ' Check the API key of this provider.',
	rate_limited: ' The provider limits how often it may be asked: wait, or raise the limit there.',
	overloaded: ' The provider is overloaded: try again later, or name fallbacks.',
};

/** The code of a failure by its HTTP status. */
export function findStatusCode(status: number) {
	if (status === 401 || status === 403) return 'auth';
	if (status === 408) return 'timeout';
	if (status === 413) return 'context_overflow';
	if (status === 429) return 'rate_limited';
	if (status === 409 || status >= 500) return 'overloaded';
	return status >= 400 ? 'invalid_request' : 'provider_error';
}

function findCode(code: string | undefined, text: string): string {
	if (code === 'insufficient_quota') return 'rate_limited';
	if (code !== undefined && retryable.has(code)) return code;
	if ((code !== undefined && connectionCodes.test(code)) || connectionTexts.test(text)) return 'network';
	return 'provider_error';
}

/** The `code` of an error, or of what caused it. */
export function readCauseCode(error: unknown): string | undefined {
	for (let at: unknown = error, depth = 0; (isRecord(at) || at instanceof Error) && depth < 4; depth++) {
		const code: unknown = Reflect.get(at, 'code');
		if (typeof code === 'string') return code;
		at = Reflect.get(at, 'cause');
	}
	return undefined;
}

function isAbort(error: unknown): boolean {
	return error instanceof Error && error.name === 'AbortError';
}

function readNumber(from: unknown, key: string): number | undefined {
	const value: unknown = isRecord(from) || from instanceof Error ? Reflect.get(from, key) : undefined;
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
