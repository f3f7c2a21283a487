import { ClientError, isTransient, readError } from './error.ts';

export interface ClientOptions {
	/** Where the server is, such as `https://runlet.example.com`. A page that the server itself serves needs none. */
	readonly baseUrl?: string;
	/** An API key, or the token of a session. A function is called before each request. `npm start` asks for none. */
	readonly apiKey?: string | (() => string | undefined);
	/** A `fetch` of your own. */
	readonly fetch?: typeof fetch;
	/** How often a request that failed for a passing reason is made again. */
	readonly retries?: number;
	/** How often a dropped stream is taken up again without a new event in between. */
	readonly streamRetries?: number;
	/** The wait before the first retry, in milliseconds. It doubles each time, up to 8 s; `Retry-After` may make it longer. */
	readonly retryDelayMs?: number;
	/** A connection that is silent for so long is given up. The server sends something every 15 s. */
	readonly idleMs?: number;
	/** Called before the wait for each retry. The first is 1. */
	readonly onRetry?: (retry: number, error: unknown) => void;
}

export interface SignalOption {
	/** Ends the request or the reading. The run goes on: `cancelRun` stops it. */
	readonly signal?: AbortSignal;
}

export interface RequestOptions extends SignalOption {
	readonly method?: 'GET' | 'POST';
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
}

/** An answer whose body is still to be read. */
export interface Connection {
	readonly response: Response;
	readonly silence: SilenceWatch;
}

export type Http = ReturnType<typeof createHttp>;

const longestDelayMs = 8_000;
/** A server that wants a longer pause than this is not asked again. */
const longestPauseMs = 60_000;

/** Makes requests to one server, and makes them again when they fail for a passing reason. */
export function createHttp({
	baseUrl = '',
	apiKey,
	fetch = (input, init) => globalThis.fetch(input, init),
	retries = 2,
	streamRetries = 7,
	retryDelayMs = 250,
	idleMs = 45_000,
	onRetry,
}: ClientOptions) {
	const origin = baseUrl.endsWith('/') ? baseUrl.slice(0, -1) : baseUrl;

	/** Makes a request once. Throws a `ClientError` when it fails, and the reason of the signal when it is aborted. */
	async function open(
		path: string,
		{ method = 'GET', body, headers, signal }: RequestOptions = {},
	): Promise<Connection> {
		const silence = watchSilence(idleMs, signal);
		silence.begin();
		try {
			const response = await fetch(`${origin}${path}`, {
				method,
				headers: {
					...createAuthorization(apiKey),
					...(body !== undefined && { 'content-type': 'application/json' }),
					...headers,
				},
				body: body === undefined ? null : JSON.stringify(body),
				signal: silence.signal,
			});
			if (!response.ok) throw await readError(response);
			return { response, silence };
		} catch (cause) {
			silence.end();
			signal?.throwIfAborted();
			if (cause instanceof ClientError) throw cause;
			throw new ClientError('unreachable', 'The server does not answer.', { cause });
		}
	}

	/** Returns the JSON of an answer. It has the type that the API says; nothing is checked. */
	function json<T>(path: string, options: RequestOptions = {}): Promise<T> {
		return retry(async () => readJson<T>(await open(path, options), options.signal), options.signal);
	}

	/** Calls `work`, and calls it again while it fails for a passing reason. */
	async function retry<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
		for (let failures = 0; ; ) {
			try {
				return await work();
			} catch (error) {
				failures += 1;
				if (failures > retries || !isWorthRetry(error)) throw error;
				await pause(failures, error, signal);
			}
		}
	}

	/** Waits before a retry. The first is 1. */
	function pause(count: number, error: unknown, signal?: AbortSignal): Promise<void> {
		const delayMs = Math.min(retryDelayMs * 2 ** (count - 1), longestDelayMs) * (0.75 + Math.random() / 4);
		const wantedMs = error instanceof ClientError ? (error.retryAfterMs ?? 0) : 0;
		onRetry?.(count, error);
		return sleep(Math.max(delayMs, wantedMs), signal);
	}

	return { open, json, retry, pause, streamRetries };
}

export function createAuthorization(apiKey: ClientOptions['apiKey']): Record<string, string> {
	const key = typeof apiKey === 'function' ? apiKey() : apiKey;
	return key ? { authorization: `Bearer ${key}` } : {};
}

/** Whether a request that failed should be made again: it may succeed, and soon. */
export function isWorthRetry(error: unknown): boolean {
	return isTransient(error) && error instanceof ClientError && (error.retryAfterMs ?? 0) <= longestPauseMs;
}

async function readJson<T>({ response, silence }: Connection, signal: AbortSignal | undefined): Promise<T> {
	let text: string;
	try {
		text = await response.text();
	} catch (cause) {
		signal?.throwIfAborted();
		throw new ClientError('connection_lost', 'The answer of the server broke off.', { cause });
	} finally {
		silence.end();
	}
	try {
		// SAFETY: T is what `cloudflare/wire` says of this operation.
		const value: T = JSON.parse(text);
		return value;
	} catch (cause) {
		throw createNotRunlet(cause);
	}
}

/** The error for an answer that no Runlet gives. */
export function createNotRunlet(cause?: unknown): ClientError {
	return new ClientError(
		'invalid_answer',
		'The answer is not from Runlet. Check baseUrl, and what stands in front of it.',
		{
			cause,
		},
	);
}

interface SilenceWatch {
	/** Aborts when nothing comes for too long, or when the caller aborts. */
	readonly signal: AbortSignal;
	/** Starts to count the silence, from now. */
	begin(): void;
	/** Stops to count it. */
	pause(): void;
	/** Lets go of the caller's signal, too. */
	end(): void;
}

function watchSilence(ms: number, outer: AbortSignal | undefined): SilenceWatch {
	const controller = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const stop = (): void => controller.abort(outer?.reason);
	const pause = (): void => clearTimeout(timer);
	if (outer?.aborted) stop();
	else outer?.addEventListener('abort', stop, { once: true });
	return {
		signal: controller.signal,
		begin: () => {
			pause();
			timer = setTimeout(() => controller.abort(new Error(`Nothing came for ${ms} ms.`)), ms);
		},
		pause,
		end: () => {
			pause();
			outer?.removeEventListener('abort', stop);
		},
	};
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve, reject) => {
		const stop = (): void => {
			clearTimeout(timer);
			reject(signal?.reason);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener('abort', stop);
			resolve();
		}, ms);
		if (signal?.aborted) stop();
		else signal?.addEventListener('abort', stop, { once: true });
	});
}
