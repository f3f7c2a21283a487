import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The way from the browser to `target`, which the test can cut. */
export async function startProxy(target: string) {
	const { hostname, port } = new URL(target);
	const sockets = new Set<Socket>();
	let isDown = false;
	const server = createServer((near) => {
		if (isDown) {
			near.destroy();
			return;
		}
		const far = connect(Number(port), hostname);
		for (const [socket, other] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(socket);
			socket.pipe(other);
			socket.on('error', () => other.destroy());
			socket.on('close', () => {
				sockets.delete(socket);
				other.destroy();
			});
		}
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');

	function cut() {
		for (const socket of sockets) socket.destroy();
	}

	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		/** Breaks every connection that is open. */
		cut,
		/** Breaks them, and every one that is tried, until `up`. */
		down() {
			isDown = true;
			cut();
		},
		up() {
			isDown = false;
		},
		close() {
			cut();
			server.close();
		},
	};
}
