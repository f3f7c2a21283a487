import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

/** A server on this machine that counts its requests. */
export interface Sink {
	readonly port: number;
	readonly url: string;
	readonly hits: string[];
	readonly close: () => Promise<void>;
}

export async function startSink(answer: RequestListener): Promise<Sink> {
	const hits: string[] = [];
	const server = createServer((request, response) => {
		hits.push(request.url ?? '');
		answer(request, response);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('the sink has no port');
	return {
		port: address.port,
		url: `http://127.0.0.1:${address.port}`,
		hits,
		close: async () => {
			server.closeAllConnections();
			server.close();
			await once(server, 'close');
		},
	};
}
