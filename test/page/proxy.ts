import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Forwards connections to `target`. A test can break them. */
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
		/** Breaks the open connections. */
		cut,
		/** Breaks the open connections, and refuses new connections until `up`. */
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
