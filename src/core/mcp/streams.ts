import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** How often a connection opens streams again that the server has closed. A server may close them at once, for ever. */
const mostReconnections = 50;

/** The shortest time before a stream is opened again, in milliseconds, whatever the server says. */
const shortestDelayMs = 100;
/** The longest. */
const longestDelayMs = 30_000;

/** Creates what opens streams again (`reconnectionScheduler` of the transport). */
export function createScheduler() {
	let left = mostReconnections;
	return (reconnect: () => void, delay: number): (() => void) | undefined => {
		if (left-- <= 0) return undefined;
		const timer = setTimeout(reconnect, Math.min(Math.max(delay, shortestDelayMs), longestDelayMs));
		return () => clearTimeout(timer);
	};
}

/** The code of an error that stands for a missing answer. No server has a reason to send it. */
export const noAnswer = -31_999;

/** Ends a request whose stream ends without an answer. The protocol's client would wait for it. */
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
