import type * as v from 'valibot';
import type { errorBody } from '../cloudflare/wire/error.ts';

type ErrorBody = v.InferOutput<typeof errorBody>;

/** The details of a failed request, besides its code and message. */
interface Details {
	readonly status?: number;
	readonly data?: Readonly<Record<string, unknown>>;
	readonly retryAfterMs?: number;
	readonly cause?: unknown;
}

/**
 * A failed request. `code`, `message` and `data` come from Runlet if Runlet answered. Otherwise `code` is `unreachable`
 * (no answer), `connection_lost` (cut off), or `invalid_answer` or `http_502` (an answer that is not from Runlet).
 */
export class ClientError extends Error {
	override readonly name = 'ClientError';
	readonly code: string;
	/** The HTTP status of the answer. */
	readonly status: number | undefined;
	readonly data: Readonly<Record<string, unknown>> | undefined;
	/** Milliseconds to wait before the next request, as `Retry-After` says. */
	readonly retryAfterMs: number | undefined;

	constructor(code: string, message: string, { status, data, retryAfterMs, cause }: Details = {}) {
		super(message, { cause });
		this.code = code;
		this.status = status;
		this.data = data;
		this.retryAfterMs = retryAfterMs;
	}
}

/** Whether the same request can succeed later. */
export function isTransient(error: unknown): boolean {
	if (!(error instanceof ClientError)) return false;
	if (error.status === undefined) return error.code === 'unreachable' || error.code === 'connection_lost';
	return error.status >= 500 || error.status === 429 || error.status === 408;
}

export async function readError(response: Response): Promise<ClientError> {
	const { status, headers } = response;
	const retryAfterMs = parseRetryAfter(headers.get('retry-after'));
	const body: unknown = await response.json().catch(() => undefined);
	if (!isErrorBody(body))
		return new ClientError(`http_${status}`, `The server answered with status ${status}.`, { status, retryAfterMs });
	const { code, message, data } = body.error;
	return new ClientError(code, message, { status, data, retryAfterMs });
}

function isErrorBody(body: unknown): body is ErrorBody {
	if (typeof body !== 'object' || body === null || !('error' in body)) return false;
	const { error } = body;
	if (typeof error !== 'object' || error === null || !('code' in error) || !('message' in error)) return false;
	return typeof error.code === 'string' && typeof error.message === 'string';
}

/** Parses `Retry-After`, which is seconds or a date (RFC 9110, section 10.2.3), into milliseconds. */
function parseRetryAfter(value: string | null): number | undefined {
	if (value === null) return undefined;
	const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
	return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
