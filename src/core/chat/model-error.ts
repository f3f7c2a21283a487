import { RunletError, toMessageText } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { sleep, toAbortError } from '../base/promises.ts';
import { addUsage, type ChatReply, type ChatUsage } from './reply.ts';

/** The codes of failures that a retry may fix. */
const retryable: ReadonlySet<string> = new Set(['rate_limited', 'overloaded', 'timeout', 'network', 'interrupted']);

/** The codes of connection errors of Node, undici and Bun. */
const connectionCodes =
	/^(ECONN\w+|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/;

/** The error texts of `fetch` for a lost connection in Workers, Node, Bun, Deno and browsers. */
const connectionTexts =
	/network connection lost|fetch failed|failed to fetch|connection (error|reset|refused|closed)|socket hang up|terminated/i;

/**
 * Converts any failure of a model call to a `RunletError` whose data names the model. A `RunletError` keeps its code
 * and message. The code of any other error follows from its `status`, then its `code`, then its text.
 */
export function toModelError(error: unknown, model: string): RunletError {
	if (error instanceof RunletError) return withModel(error, model);
	const status = readNumber(error, 'status') ?? readNumber(error, 'statusCode');
	const code = readCauseCode(error);
	const retryAfter = readRetryAfter(error);
	const insufficientQuota = code === 'insufficient_quota' ? true : undefined;
	const data = { model, status, insufficientQuota, retryAfter };
	const text = toMessageText(error);
	// The loop has already checked its own signal, so this abort has another cause.
	if (error instanceof Error && error.name === 'AbortError')
		return new RunletError('interrupted', `${model}: the call was broken off.`, data, { cause: error });
	const kind = status === undefined ? findCode(code, text) : findStatusCode(status);
	return new RunletError(kind, `${model}: ${text}${remedies[kind] ?? ''}`, data, { cause: error });
}

function withModel(error: RunletError, model: string): RunletError {
	const { code, data } = error;
	if (data?.model !== undefined || code === 'cancelled' || code === 'budget_exceeded') return error;
	return withData(error, { model });
}

export function withData(error: RunletError, more: object, message = error.message): RunletError {
	return new RunletError(error.code, message, { ...error.data, ...more }, { cause: error.cause ?? error });
}

export function isRetryable(error: RunletError): boolean {
	return retryable.has(error.code) && error.data?.insufficientQuota !== true;
}

/**
 * Whether a call was interrupted, so that its cost is unknown. A refused call, or a failed connection, costs nothing.
 */
export function isCut({ code, data }: RunletError): boolean {
	if (data?.hasBegun === true) return true;
	return code === 'interrupted' || code === 'timeout' || code === 'cancelled' || code === 'reply_too_large';
}

export function withUsage(error: RunletError, usage: ChatUsage): RunletError {
	return Object.keys(usage).length === 0 ? error : withData(error, { usage });
}

export function readUsage({ data }: RunletError): ChatUsage | undefined {
	const usage = data?.usage;
	return typeof usage === 'object' && usage !== null ? usage : undefined;
}

/** Reads how many seconds a provider requests to wait. */
function readRetryAfter(error: unknown): number | undefined {
	if (error instanceof RunletError) return readNumber(error.data, 'retryAfter');
	const own = readNumber(error, 'retryAfter');
	if (own !== undefined) return own;
	const headers: unknown = isRecord(error) || error instanceof Error ? Reflect.get(error, 'headers') : undefined;
	const value =
		headers instanceof Headers ? headers.get('retry-after') : isRecord(headers) ? headers['retry-after'] : undefined;
	return typeof value === 'string' ? parseRetryAfter(value) : undefined;
}

/** Parses a `retry-after` header to seconds, from a number or a date (RFC 9110, 10.2.3). */
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

/** Reads the `code` of an error or of its cause. */
export function readCauseCode(error: unknown): string | undefined {
	for (let at: unknown = error, depth = 0; (isRecord(at) || at instanceof Error) && depth < 4; depth++) {
		const code: unknown = Reflect.get(at, 'code');
		if (typeof code === 'string') return code;
		at = Reflect.get(at, 'cause');
	}
	return undefined;
}

function readNumber(from: unknown, key: string): number | undefined {
	const value: unknown = isRecord(from) || from instanceof Error ? Reflect.get(from, key) : undefined;
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The longest `retry-after` in seconds. A call with a longer `retry-after` is not retried. */
const longestWait = 60;

interface RetryOptions<R> {
	readonly model: string;
	readonly maxRetries: number;
	readonly signal: AbortSignal;
	readonly mayRetry?: () => boolean;
	readonly addLost?: (reply: R, lost: ChatUsage) => R;
	/** Called before the pause after a failure. `retries` counts the retry that follows. */
	readonly onRetry?: (code: string, retries: number, afterMs: number) => undefined | Promise<void>;
}

/** Makes a call, and retries it after a temporary failure. Adds the usage of failed attempts to the outcome. */
export async function retry<R>(
	call: () => Promise<R>,
	{ model, maxRetries, signal, mayRetry = () => true, addLost = (reply) => reply, onRetry }: RetryOptions<R>,
): Promise<R> {
	let lost: ChatUsage | undefined;
	for (let retries = 0; ; retries++) {
		try {
			const reply = await call();
			return lost === undefined ? reply : addLost(reply, lost);
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			const spent = readUsage(failure);
			lost = lost === undefined ? spent : addUsage(lost, spent);
			const error = withUsage(failure, lost ?? {});
			const wait = readRetryAfter(error);
			const isWorthIt = retries < maxRetries && isRetryable(error) && (wait ?? 0) <= longestWait;
			if (!isWorthIt || signal.aborted || !mayRetry()) throw error;
			const afterMs = Math.round(wait === undefined ? computeBackoff(retries) : wait * 1000);
			await onRetry?.(error.code, retries + 1, afterMs);
			await sleep(afterMs, signal).catch(() => {
				throw withUsage(toAbortError(signal), lost ?? {});
			});
		}
	}
}

export function addLostUsage<R extends ChatReply>(reply: R, lost: ChatUsage): R {
	return { ...reply, usage: addUsage(lost, reply.usage) };
}

/** Returns the milliseconds to wait: 500, doubled for each retry, then reduced at random by up to half. */
function computeBackoff(retries: number): number {
	return 500 * 2 ** retries * (0.5 + Math.random() / 2);
}
