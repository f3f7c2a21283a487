import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cutting } from './cutting.ts';

export interface Answer {
	readonly status: number;
	readonly contentType: string;
	readonly bytes: Uint8Array;
	readonly cutting: Cutting;
}

export interface Player {
	/** Returns a base URL that plays this answer for every request. */
	readonly play: (answer: Answer) => string;
	readonly close: () => Promise<void>;
}

/** An HTTP server on 127.0.0.1 that plays recordings. */
export async function startPlayer(): Promise<Player> {
	const answers: Answer[] = [];
	const server = createServer((request, response) => {
		request.resume();
		request.once('end', () => {
			const answer = answers[Number(request.url?.split('/')[1])];
			if (answer === undefined) response.writeHead(500).end('No such recording.');
			else send(response, answer).catch(() => response.destroy());
		});
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');
	return {
		play: (answer) => `http://127.0.0.1:${address.port}/${answers.push(answer) - 1}`,
		close: async () => {
			server.close();
			server.closeAllConnections();
			await once(server, 'close');
		},
	};
}

/** Sends each piece alone. The reader is in this process, and can read a piece before the next piece is sent. */
async function send(response: ServerResponse, { status, contentType, bytes, cutting }: Answer): Promise<void> {
	response.socket?.setNoDelay(true);
	response.writeHead(status, { 'content-type': contentType });
	let sent = 0;
	for (const size of cutting.sizes(bytes.length)) {
		response.write(bytes.subarray(sent, sent + size));
		sent += size;
		await nextTurn();
		if (response.destroyed) return;
	}
	response.end();
}

/** Plays an answer without a server, so that each of many pieces is read alone. */
export function createPlayingFetch({ status, contentType, bytes, cutting }: Answer): typeof fetch {
	return async () => {
		const sizes = cutting.sizes(bytes.length)[Symbol.iterator]();
		let sent = 0;
		const pull = (controller: ReadableStreamDefaultController): void => {
			const next = sizes.next();
			if (next.done) {
				controller.close();
				return;
			}
			controller.enqueue(bytes.slice(sent, sent + next.value));
			sent += next.value;
		};
		const body = new ReadableStream({ pull }, { highWaterMark: 0 });
		return new Response(body, { status, headers: { 'content-type': contentType } });
	};
}
