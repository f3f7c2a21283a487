import { ClientError, isTransient, readError } from './error.ts';

export interface ClientOptions {
	/** The address of the server, such as `https://runlet.example.com`. Not needed in the server's own page. */
	readonly baseUrl?: string;
	/** An API key, or the token of a session. A function is called before each request. A local server needs no key. */
	readonly apiKey?: string | (() => string | undefined);
	/** Replaces the global `fetch`. */
	readonly fetch?: typeof fetch;
	/** The maximum number of retries after a temporary failure. */
	readonly retries?: number;
	/** How often a stream reconnects at most without a new event in between. */
	readonly streamRetries?: number;
	/** Milliseconds before the first retry. The wait doubles each time, up to 8 s. `Retry-After` can lengthen it. */
	readonly retryDelayMs?: number;
	/** Milliseconds of silence after which a connection counts as lost. The server sends something every 15 s. */
	readonly idleMs?: number;
	/** Called before the wait for each retry. `retry` is 1 for the first retry. */
	readonly onRetry?: (retry: number, error: unknown) => void;
}

export interface SignalOption {
	/** Aborts the request, or the reading of the run's events. The run continues; only `cancelRun` stops it. */
	readonly signal?: AbortSignal;
}

export interface RequestOptions extends SignalOption {
	readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
	/** A value that is sent as JSON. */
	readonly body?: unknown;
	/** A body that is sent unchanged. No timeout. */
	readonly content?: BodyInit;
	readonly headers?: Readonly<Record<string, string>>;
}

/** An answer whose body was not read yet. */
export interface Connection {
	readonly response: Response;
	readonly silence: SilenceWatch;
}

export type Http = ReturnType<typeof createHttp>;

const longestDelayMs = 8_000;
/** If the server asks for a longer pause before a retry, the request fails without a retry. */
const longestPauseMs = 60_000;

/** Makes requests to a server. Repeats a request that fails for a temporary reason. */
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

	/** Makes a request once. Throws a `ClientError` if it fails, or the signal's reason if the signal aborts it. */
	async function open(
		path: string,
		{ method = 'GET', body, content, headers, signal }: RequestOptions = {},
	): Promise<Connection> {
		// An id such as `..` would change the path of the request.
		if (/\/\.{1,2}(?:[/?]|$)/.test(path))
			throw new ClientError('not_found', `There is nothing at ${path}.`, { status: 404 });
		const silence = watchSilence(idleMs, signal);
		if (content === undefined) silence.begin();
		try {
			const response = await fetch(`${origin}${path}`, {
				method,
				headers: {
					...createAuthorization(apiKey),
					...(body !== undefined && { 'content-type': 'application/json' }),
					...(content !== undefined && { 'content-type': 'application/octet-stream' }),
					...headers,
				},
				body: content ?? (body === undefined ? null : JSON.stringify(body)),
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

	/** Returns the JSON of an answer. It is typed by the API, but not checked. */
	function json<T>(path: string, options: RequestOptions = {}): Promise<T> {
		return retry(async () => readJson<T>(await open(path, options), options.signal), options.signal);
	}

	/** Sends a value, and returns the JSON of the answer. Does not repeat the request, and waits as long as it takes. */
	async function once<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
		const headers = { 'content-type': 'application/json' };
		const content = JSON.stringify(body);
		return readJson<T>(await open(path, { method: 'POST', content, headers, signal }), signal);
	}

	/** Calls `work`, and repeats it while it fails for a temporary reason. */
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

	/** Waits before a retry. `count` is 1 for the first retry. */
	function pause(count: number, error: unknown, signal?: AbortSignal): Promise<void> {
		const delayMs = Math.min(retryDelayMs * 2 ** (count - 1), longestDelayMs) * (0.75 + Math.random() / 4);
		const wantedMs = error instanceof ClientError ? (error.retryAfterMs ?? 0) : 0;
		onRetry?.(count, error);
		return sleep(Math.max(delayMs, wantedMs), signal);
	}

	/** Makes a request, passes the answer to `use`, and returns the result of `use`. */
	function read<T>(path: string, options: RequestOptions, use: (response: Response) => T | Promise<T>): Promise<T> {
		return retry(async () => {
			const { response, silence } = await open(path, options);
			try {
				return await use(response);
			} finally {
				silence.end();
			}
		}, options.signal);
	}

	/** Sends a `DELETE`, and ignores the body of the answer. */
	function remove(path: string, signal?: AbortSignal, headers?: RequestOptions['headers']): Promise<void> {
		return read(path, { method: 'DELETE', headers, signal }, () => undefined);
	}

	return { open, json, once, read, retry, remove, pause, streamRetries };
}

export function createAuthorization(apiKey: ClientOptions['apiKey']): Record<string, string> {
	const key = typeof apiKey === 'function' ? apiKey() : apiKey;
	return key ? { authorization: `Bearer ${key}` } : {};
}

/** Whether to repeat a failed request: the failure is temporary, and the server asks for no long pause. */
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
		// SAFETY: T is the type that `cloudflare/wire` has for this operation.
		const value: T = JSON.parse(text);
		return value;
	} catch (cause) {
		throw createNotRunlet(cause);
	}
}

/** Creates the error for an answer that is not from Runlet. */
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
	/** Aborts after too much silence, or when the caller aborts. */
	readonly signal: AbortSignal;
	begin(): void;
	pause(): void;
	/** Stops the timer, and no longer listens to the caller's signal. */
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

/** Writes a query, without values that are `undefined`. */
export function toQuery(values: object): string {
	const present = Object.entries(values).flatMap(([name, value]) =>
		value === undefined ? [] : [[name, String(value)]],
	);
	return present.length === 0 ? '' : `?${new URLSearchParams(present)}`;
}

/** Encodes the path of a file or a memory for a URL. Refuses `..`, which would change the path of the request. */
export function toPathAddress(path: string): string {
	const names = path.split('/');
	if (names.some((name) => /^\.{0,2}$/.test(name)))
		throw new ClientError('invalid_argument', `path: ${JSON.stringify(path)} is no path, such as notes/plan.md.`);
	return names.map(encodeURIComponent).join('/');
}

/** Creates a key for a request. Pages without TLS have no `randomUUID`. */
export function createIdempotencyKey() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return { 'idempotency-key': Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}
