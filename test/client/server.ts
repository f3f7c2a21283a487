import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ClientOptions, createClient, type RunEvent } from '../../src/client/index.ts';

/** A request as the server received it. */
export interface Received {
	readonly route: string;
	readonly headers: IncomingMessage['headers'];
	readonly body: unknown;
}

export type Answer = (response: ServerResponse, request: Received) => unknown;

/** Starts a server that gives each request the next answer. After the last answer it repeats the last answer. */
export async function startServer(...answers: readonly Answer[]) {
	const requests: Received[] = [];
	const server = createServer(async (request, response) => {
		const body = await text(request);
		const route = `${request.method} ${request.url}`;
		const received = { route, headers: request.headers, body: body === '' ? undefined : JSON.parse(body) };
		const answer = answers[Math.min(requests.length, answers.length - 1)];
		requests.push(received);
		await answer?.(response, received);
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
		requests,
		[Symbol.asyncDispose]: async () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

/** The text of an event in a stream, with its id. */
export function toWire(id: string, event: { readonly type: string }): string {
	return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Answers with a stream that sends these pieces and ends. */
export function stream(...pieces: readonly string[]): Answer {
	return (response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		for (const piece of pieces) response.write(piece);
		response.end();
	};
}

/** Answers with a stream that sends these pieces and breaks off. */
export function cutStream(...pieces: readonly string[]): Answer {
	return (response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write(`: hello\n\n${pieces.join('')}`, () => response.destroy());
	};
}

/** Answers with a stream that sends these pieces, then sends nothing and stays open. */
export function silentStream(...pieces: readonly string[]): Answer {
	return (response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write(`: hello\n\n${pieces.join('')}`);
	};
}

/** Answers with JSON, or with an error as Runlet writes it. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
	return (response) => {
		response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
	};
}

export function error(status: number, code: string, headers?: Record<string, string>): Answer {
	return json(status, { error: { code, message: `It is ${code}.`, data: { field: 'x' } } }, headers);
}

/** Takes the request and closes the connection without an answer. */
export const hangUp: Answer = (response) => response.destroy();

export const say = (text: string): RunEvent => ({ type: 'text', text });
export const done = { type: 'done', text: '', usage: {} } as const;
export const [one, two, three, end] = [
	toWire('1', say('one')),
	toWire('2', say('two')),
	toWire('3', say('three')),
	toWire('end', done),
];

/** Starts a server with these answers, and a client of the server that does not wait before a retry. */
export async function start(answers: readonly Answer[], options: ClientOptions = {}) {
	const server = await startServer(...answers);
	const client = createClient({ baseUrl: server.url, retryDelayMs: 0, ...options });
	return {
		...server,
		client,
		routes: () => server.requests.map(({ route }) => route),
		lastEventIds: () => server.requests.map(({ headers }) => headers['last-event-id']),
	};
}

export const types = async (events: AsyncIterable<RunEvent>) => (await Array.fromAsync(events)).map(({ type }) => type);
export const texts = async (events: AsyncIterable<RunEvent>) =>
	(await Array.fromAsync(events)).map((event) => (event.type === 'text' ? event.text : event.type));
export const failure = async (work: Promise<unknown>): Promise<unknown> =>
	work.then(
		() => undefined,
		(cause: unknown) => cause,
	);
