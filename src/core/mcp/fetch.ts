import { RunletError } from '../base/errors.ts';
import { isLoopback, publicFetch } from '../base/public-fetch.ts';
import type { ConnectionOptions, McpServer } from './server.ts';

/** The maximum number of bytes of an answer or of a stream: eight times the longest result. */
const maxBytes = 8_388_608;
/** The maximum time of a request with its stream, in milliseconds. A call has a shorter limit. */
const longestRequestMs = 1_800_000;
const maxRedirects = 3;

export interface ServerFetch {
	readonly send: typeof globalThis.fetch;
	/** Returns and clears the last error that interrupted an answer. The protocol's client does not report it. */
	takeFailure(): RunletError | undefined;
}

/** Creates the `fetch` of a connection. It reaches public addresses, or this machine if the server is on it. */
export function createServerFetch({ url }: McpServer, { fetch, allowLoopback }: ConnectionOptions): ServerFetch {
	const options = {
		maxBytes,
		maxRedirects,
		timeoutMs: longestRequestMs,
		allowLoopback: allowLoopback === true && isLoopback(new URL(url)),
	};
	let failure: RunletError | undefined;
	const note = (thrown: unknown): never => {
		if (thrown instanceof RunletError) failure = thrown;
		throw thrown;
	};
	const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
		const target = input instanceof Request ? input.url : input;
		if (fetch !== undefined) return fetch(target, init);
		const response = await publicFetch(target, init, options).catch(note);
		return response.body === null ? response : new Response(watchFailure(response.body, note), response);
	};
	return {
		send,
		takeFailure: () => {
			const last = failure;
			failure = undefined;
			return last;
		},
	};
}

function watchFailure(body: ReadableStream<Uint8Array>, note: (thrown: unknown) => never): ReadableStream<Uint8Array> {
	const reader = body.getReader();
	return new ReadableStream({
		pull: async (controller) => {
			const { done, value } = await reader.read().catch(note);
			if (done) controller.close();
			else controller.enqueue(value);
		},
		cancel: (reason) => reader.cancel(reason),
	});
}
