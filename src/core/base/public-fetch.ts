import { RunletError } from './errors.ts';

/** The limits of a `publicFetch`. */
export interface PublicFetchOptions extends PublicUrlOptions {
	/** The maximum number of bytes of an answer, counted after unpacking. */
	readonly maxBytes: number;
	/** Milliseconds for everything: every redirect, and the body to its end. */
	readonly timeoutMs: number;
	/** The maximum number of redirects. With 0 a redirect is an error. */
	readonly maxRedirects: number;
	/** Called with each address before its request. An error here ends the fetch. */
	readonly onHop?: (url: URL) => void | Promise<void>;
	/** Sends the requests. The default is the platform's `fetch`. */
	readonly fetch?: (input: URL, init: RequestInit) => Promise<Response>;
}

/**
 * Fetches a URL from an untrusted source. `assertPublicUrl` checks the URL of every request, also after a
 * redirect. A request to another origin gets only headers that do not identify the caller, and never a body.
 * Loopback may redirect only to loopback.
 *
 * Resolves for every status. Read the body to its end or cancel it. Throws `invalid_request` for a URL that must
 * not be fetched, `too_large`, `timeout`, `network` for an unreachable host or too many redirects, and the
 * reason of an aborted `init.signal`. Reading the body throws the same errors.
 */
export async function publicFetch(
	url: string | URL,
	init: RequestInit,
	{
		maxBytes,
		timeoutMs,
		maxRedirects,
		allowLoopback,
		field = 'url',
		onHop,
		fetch: send = platformFetch,
	}: PublicFetchOptions,
): Promise<Response> {
	const bounds = { field, maxBytes, timeoutMs, ...createDeadline(timeoutMs, init.signal) };
	let hop: Hop = { url: assertPublicUrl(url, { allowLoopback, field }), init };
	for (let left = maxRedirects; ; left--) {
		await onHop?.(hop.url);
		const response = await limitTime(send(hop.url, { ...hop.init, redirect: 'manual', signal: bounds.signal }), bounds);
		const location = readLocation(response, field);
		if (location === undefined) return boundResponse(response, bounds);
		response.body?.cancel().catch(() => {});
		if (left <= 0)
			throw new RunletError('network', `${field}: redirects too often. Name where it leads to.`, { field });
		hop = toNextHop(hop, response.status, location, { allowLoopback, field });
	}
}

function platformFetch(input: URL, init: RequestInit): Promise<Response> {
	return fetch(input, init);
}

interface Hop {
	readonly url: URL;
	readonly init: RequestInit;
}

/** The headers that do not identify the caller. They are also sent after a redirect to another origin. */
export const anonymousHeaders: ReadonlySet<string> = new Set([
	'accept',
	'accept-language',
	'content-language',
	'content-type',
	'range',
	'user-agent',
]);

function readLocation(response: Response, field: string): string | undefined {
	// Fetch standard, "opaque-redirect filtered response".
	if (response.status === 0)
		throw new RunletError('network', `${field}: redirects, and a browser does not say where to.`, { field });
	if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
	return response.headers.get('location') ?? undefined;
}

/** Creates the request after a redirect (Fetch standard, "HTTP-redirect fetch"). Sends no body to another origin. */
function toNextHop({ url, init }: Hop, status: number, location: string, options: PublicUrlOptions): Hop {
	const { field = 'url' } = options;
	const method = init.method?.toUpperCase() ?? 'GET';
	const isRewritten = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
	const { body, ...rest } = isRewritten ? { ...init, body: null, method: 'GET' } : init;
	const target = assertPublicUrl(URL.canParse(location, url) ? new URL(location, url) : location, {
		allowLoopback: options.allowLoopback && isLoopback(url),
		field,
	});
	const isSameOrigin = target.origin === url.origin;
	const hasBody = body !== undefined && body !== null;
	if (hasBody && (!isSameOrigin || body instanceof ReadableStream))
		throw new RunletError('network', `${field}: redirects a request with a body. Name where it leads to.`, { field });
	const headers = new Headers(init.headers);
	for (const name of [...headers.keys()]) {
		const isOfBody = name.startsWith('content-') && !hasBody;
		if (isOfBody || !(isSameOrigin || anonymousHeaders.has(name))) headers.delete(name);
	}
	return { url: target, init: { ...rest, headers, ...(hasBody && { body }) } };
}

interface Bounds {
	readonly field: string;
	readonly maxBytes: number;
	readonly timeoutMs: number;
	/** Aborts at the deadline and with the caller's signal. */
	readonly signal: AbortSignal;
	readonly own: AbortSignal | undefined;
}

function createDeadline(timeoutMs: number, own: AbortSignal | null | undefined): Pick<Bounds, 'signal' | 'own'> {
	const time = AbortSignal.timeout(timeoutMs);
	return own ? { signal: AbortSignal.any([time, own]), own } : { signal: time, own: undefined };
}

/** Waits for a request or a read. Throws when the signal aborts, even if the request or the read ignores the signal. */
async function limitTime<T>(work: Promise<T>, { field, timeoutMs, signal, own }: Bounds): Promise<T> {
	let onAbort = (): void => {};
	const aborted = new Promise<never>((_, reject) => {
		onAbort = () => reject(signal.reason);
	});
	if (signal.aborted) onAbort();
	else signal.addEventListener('abort', onAbort);
	try {
		return await Promise.race([aborted, work]);
	} catch (cause) {
		own?.throwIfAborted();
		if (signal.aborted)
			throw new RunletError('timeout', `${field}: took longer than ${timeoutMs} ms.`, { field }, { cause });
		if (cause instanceof RunletError) throw cause;
		throw new RunletError('network', `${field}: could not be reached.`, { field }, { cause });
	} finally {
		signal.removeEventListener('abort', onAbort);
	}
}

/** Counts the bytes of an answer while they are read, because `Content-Length` may be missing or wrong. */
function boundResponse(response: Response, bounds: Bounds): Response {
	const { field, maxBytes } = bounds;
	const { status, statusText, body } = response;
	const headers = new Headers(response.headers);
	// These headers describe the bytes before unpacking.
	for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
	if (body === null) return new Response(null, { status, statusText, headers });
	const tooLarge = () =>
		new RunletError('too_large', `${field}: more than ${maxBytes} bytes.`, { field, limit: maxBytes });
	const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
	const stop = (reason: unknown) => void reader.cancel(reason).catch(() => {});
	if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
		stop(undefined);
		throw tooLarge();
	}
	let bytes = 0;
	const counted = new ReadableStream<Uint8Array>({
		pull: async (controller) => {
			try {
				const { done, value } = await limitTime(reader.read(), bounds);
				if (done) return controller.close();
				bytes += value.byteLength;
				if (bytes > maxBytes) throw tooLarge();
				controller.enqueue(value);
			} catch (error) {
				stop(error);
				throw error;
			}
		},
		cancel: stop,
	});
	return new Response(counted, { status, statusText, headers });
}

interface PublicUrlOptions {
	/** Also allows this machine (`localhost`, `127.0.0.0/8`, `[::1]`), with http and any port. For the local mode. */
	readonly allowLoopback?: boolean;
	/** The field in error messages. The default is `url`. */
	readonly field?: string;
}

/**
 * Checks a URL from an untrusted source: https, port 443, a name of the public internet, no user, no password. Checks
 * the host after parsing, so no spelling of an IP address passes (`127.1`, `0x7f.1`, `2130706433`,
 * `[::ffff:127.0.0.1]`). Fetch the returned URL, not the given text.
 *
 * Names are not resolved. The platform refuses names of private addresses (`global_fetch_strictly_public`). Throws
 * `invalid_request`, which names the field and does not repeat the URL.
 */
export function assertPublicUrl(
	url: string | URL,
	{ allowLoopback = false, field = 'url' }: PublicUrlOptions = {},
): URL {
	const createRefusal = (what: string) =>
		new RunletError('invalid_request', `${field}: ${what}. Give an https URL at a public name.`, { field });
	const text = String(url);
	// Parsers disagree about these characters. Another parser might see another host.
	if (/[\s\p{Cc}\\]/u.test(text)) throw createRefusal('holds spaces, control characters or backslashes');
	if (!URL.canParse(text)) throw createRefusal('not a URL');
	const parsed = new URL(text);
	const { protocol, hostname, port, username, password } = parsed;
	if (username !== '' || password !== '') throw createRefusal('holds a user or a password');
	if (allowLoopback && isLoopback(parsed)) return parsed;
	if (protocol !== 'https:') throw createRefusal('not https');
	if (isAddress(hostname)) throw createRefusal('an IP address, not a name');
	if (!isPublicName(hostname)) throw createRefusal('a name of a private network');
	if (port !== '') throw createRefusal('on a port other than 443');
	return parsed;
}

export function isPublicUrl(url: string): boolean {
	try {
		assertPublicUrl(url);
		return true;
	} catch {
		return false;
	}
}

/** Whether the URL is http or https to this machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
	return /^https?:$/.test(protocol) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Whether a parsed host is an IP address. The parser writes IPv6 in brackets and every IPv4 as four numbers. */
function isAddress(hostname: string): boolean {
	return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Top-level labels that are not in the public DNS: the special names of RFC 6761, 6762, 7686, 8375 and 9476, the
 * names that ICANN reserves for private use, and the names that routers and companies use.
 */
const privateSuffixes =
	/(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|mail|test|invalid|onion|alt|arpa)$/;

/** Whether a parsed host can be a name in the public DNS: it has two or more labels, and no label is empty. */
function isPublicName(hostname: string): boolean {
	const labels = hostname.split('.');
	const isTopLevel = /^([a-z]{2,}|xn--[a-z\d-]+)$/.test(labels.at(-1) ?? '');
	return labels.length > 1 && !labels.includes('') && isTopLevel && !privateSuffixes.test(hostname);
}
