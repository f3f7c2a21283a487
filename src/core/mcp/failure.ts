import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { RunletError, toMessageText } from '../base/errors.ts';
import { dropUndefined } from '../base/json.ts';
import { truncateText } from '../base/text.ts';
import type * as Sdk from './sdk.ts';
import type { McpServer } from './server.ts';

/** Whether an error requires a login on the page `data.url`. */
export function isLoginNeeded(thrown: unknown): thrown is RunletError & { readonly data: { readonly url: string } } {
	return thrown instanceof RunletError && thrown.code === 'auth' && typeof thrown.data?.url === 'string';
}

interface FailureContext {
	readonly sdk: typeof Sdk | undefined;
	readonly server: McpServer;
	readonly link: string | undefined;
	/** The error that interrupted the answer. */
	readonly cut: RunletError | undefined;
}

/** The maximum number of characters of a server's error message. */
const longestWords = 1_000;

/** Converts an error of the protocol's client to an error that names the server. */
export function toFailure(thrown: unknown, { sdk, server: { name }, link, cut }: FailureContext): RunletError {
	const words = truncateText(toMessageText(thrown), longestWords);
	const create = (code: string, message: string, url?: string) =>
		new RunletError(code, message, dropUndefined({ server: name, url }));
	if (link !== undefined) return create('auth', `${name}: somebody has to log in first.`, link);
	const own = thrown instanceof RunletError ? thrown : cut;
	if (own !== undefined) return create(own.code, `${name}: ${own.message}`);
	if (sdk === undefined) return create('network', `${name}: ${words}`);
	if (thrown instanceof sdk.SdkHttpError && (thrown.status === 401 || thrown.status === 403))
		return create(
			'conflict',
			`${name}: the server does not let this agent in (${thrown.status}). Its owner has to check headers and login.`,
		);
	if (thrown instanceof sdk.ProtocolError && thrown.code === noAnswer)
		return create('network', `${name}: the server ended its answer without a result.`);
	if (thrown instanceof sdk.ProtocolError)
		return create('invalid_request', `${name}: the server refused this: ${words}`);
	if (thrown instanceof sdk.SdkError && thrown.code === sdk.SdkErrorCode.RequestTimeout)
		return create('timeout', `${name}: the server did not answer in time.`);
	return create('network', `${name}: the server could not be asked: ${words}`);
}

/** The maximum number of times that a connection reopens a stream. A server might close every stream at once. */
const mostReconnections = 50;
/** The limits of the time before a stream is opened again, in milliseconds. */
const shortestDelayMs = 100;
const longestDelayMs = 30_000;

/** Creates the `reconnectionScheduler` of the transport. */
export function createScheduler() {
	let left = mostReconnections;
	return (reconnect: () => void, delay: number): (() => void) | undefined => {
		if (left-- <= 0) return undefined;
		const timer = setTimeout(reconnect, Math.min(Math.max(delay, shortestDelayMs), longestDelayMs));
		return () => clearTimeout(timer);
	};
}

/** Runlet's own error code for a missing answer. No server sends this code. */
const noAnswer = -31_999;

/** Fails a request whose stream ends without an answer. The protocol's client would wait for it forever. */
export function endWithStreams(transport: StreamableHTTPClientTransport): void {
	const send = transport.send.bind(transport);
	transport.send = (message, options) => {
		const onRequestStreamEnd = (): void => {
			if (Array.isArray(message) || !('method' in message) || !('id' in message)) return;
			const error = { code: noAnswer, message: 'no answer' };
			transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
		};
		return send(message, { onRequestStreamEnd, ...options });
	};
}
