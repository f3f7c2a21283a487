import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The system assigns no port of this range by itself: it assigns ports from 49152 on
 * (https://www.rfc-editor.org/rfc/rfc6335#section-6), and Linux assigns ports from 32768 on. So the port of a
 * server is still free at its restart.
 */
const [first, last] = [20_000, 32_000];

/** Servers that listen on the marks until this process ends. A mark is the port below a claimed port. */
const marks: Server[] = [];

/**
 * Claims a port on 127.0.0.1 until this process ends. No other test process claims the same port: the port below is its
 * mark, and only one process can listen on the mark.
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

/** Listens on a port. Returns nothing if the port is occupied. */
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
