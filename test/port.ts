import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The system gives none of these by itself (https://www.rfc-editor.org/rfc/rfc6335#section-6: it gives those from 49152,
 * and Linux those from 32768). So a server that ends finds its port free when it starts again.
 */
const [first, last] = [20_000, 32_000];

/** What is listened on as long as this process lives. */
const marks: Server[] = [];

/**
 * Claims a port on 127.0.0.1 until this process ends. No other claim gets it, whoever runs tests at the same time: the
 * port below it is its mark, and only one process can listen on that.
 */
export async function claimPort(): Promise<number> {
	const port = randomInt(first / 2, last / 2) * 2;
	const mark = await listen(port - 1);
	if (mark === undefined) return claimPort();
	marks.push(mark.unref());
	const server = await listen(port);
	if (server === undefined) return claimPort();
	server.close();
	await once(server, 'close');
	return port;
}

/** Listens on a port, unless somebody else does. */
async function listen(port: number): Promise<Server | undefined> {
	const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
	try {
		await once(server, 'listening');
		return server;
	} catch (error) {
		if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return undefined;
		throw error;
	}
}
