import type { Context } from 'hono';
import { check } from '../../core/base/check.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { parseJson } from '../../core/base/json.ts';
import { createParser } from '../../core/providers/adapter/event-parser.ts';
import type { RouteEnv } from '../routes/identity.ts';
import type { Dispatch } from '../routes/plugins.ts';
import { mount } from '../routes/request.ts';
import { refusalResponse } from '../wire/protocols/openai/error.ts';
import * as endpoints from '../wire/protocols/responses/endpoints.ts';
import { socketMessage } from '../wire/protocols/responses/schema.ts';

/** The most messages of a connection without an answer. */
const mostWaiting = 16;

/** The responses after which the connection of a request can go on, also if they are not stored. */
const fleeting = new WeakMap<Request, ReadonlySet<string>>();

/** Whether a request came over a connection that goes on after this response, although the response is not stored. */
export function isOfConnection({ req }: Context<RouteEnv>, response: string): boolean {
	return fleeting.get(req.raw)?.has(response) === true;
}

/** `GET /v1/responses` as a WebSocket: each message is a request (docs/responses.md, "WebSocket"). */
export function createSocketRoute(dispatch: Dispatch) {
	return mount(endpoints.openSocket, (c) => {
		if (c.req.header('upgrade')?.toLowerCase() !== 'websocket')
			throw createFieldError('invalid_request', 'upgrade', 'open this address as a WebSocket, or send a POST.');
		const { 0: theirs, 1: own } = new WebSocketPair();
		own.accept();
		serve(own, (request) => dispatch(request, c.env), c.req.raw);
		return new Response(null, { status: 101, webSocket: theirs });
	});
}

/** Answers the messages of a connection, one after the other. */
function serve(socket: WebSocket, ask: (request: Request) => Response | Promise<Response>, opening: Request): void {
	const known = new Set<string>();
	const gone = new AbortController();
	let waiting = 0;
	let last = Promise.resolve();
	const send = (text: string): void => {
		if (!gone.signal.aborted) socket.send(text);
	};
	const answer = async (data: unknown): Promise<void> => {
		const { body, previous } = readMessage(data);
		const request = new Request(opening.url, { method: 'POST', headers: toHeaders(opening), body });
		fleeting.set(request, known);
		const response = await ask(request);
		const ended = response.ok ? await passEvents(response, send, gone.signal) : await sendFailure(response, send);
		if (ended?.status === 'completed' || ended?.status === 'incomplete') known.add(ended.id);
		else if (previous != null) known.delete(previous);
	};
	socket.addEventListener('message', ({ data }) => {
		if (++waiting > mostWaiting) {
			socket.close(1008, `At most ${mostWaiting} messages may wait for an answer.`);
			gone.abort();
		}
		if (gone.signal.aborted) return;
		last = last
			.then(() => (gone.signal.aborted ? undefined : answer(data)))
			.catch((error: unknown) => sendFailure(refusalResponse(error), send))
			.then(() => void waiting--);
	});
	socket.addEventListener('close', () => {
		gone.abort();
		socket.close();
	});
}

/** Reads a message, and returns the body of its request. Throws `invalid_request`, which names the field. */
function readMessage(data: unknown) {
	const text = typeof data === 'string' ? data : '';
	const { type: _, ...request } = check(socketMessage, parseJson(text), 'message');
	return { body: JSON.stringify({ ...request, stream: true }), previous: request.previous_response_id };
}

/** The headers that belong to the opening of the connection, and not to each of its requests. */
const ofOpening = /^(connection|upgrade|sec-websocket-.*|content-.*|idempotency-key|x-stainless-retry-count)$/;

function toHeaders({ headers }: Request): Headers {
	const own = new Headers([...headers].filter(([name]) => !ofOpening.test(name)));
	own.set('content-type', 'application/json');
	return own;
}

interface Ended {
	readonly id: string;
	readonly status: string;
}

/** Sends each event of a stream as a message. Returns the response of its last event. */
async function passEvents(
	{ body }: Response,
	send: (text: string) => void,
	signal: AbortSignal,
): Promise<Ended | undefined> {
	let ended: Ended | undefined;
	const parser = createParser({
		onEvent: ({ event = '', data }) => {
			if (/^response\.(completed|incomplete|failed)$/.test(event)) ended = JSON.parse(data).response;
			send(data);
		},
	});
	const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
	const leave = (): void => void reader?.cancel().catch(() => {});
	signal.addEventListener('abort', leave);
	if (signal.aborted) leave();
	for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) parser.feed(read.value);
	signal.removeEventListener('abort', leave);
	return ended;
}

async function sendFailure(response: Response, send: (text: string) => void): Promise<undefined> {
	const failure: object = await response.json();
	send(JSON.stringify({ type: 'error', status: response.status, ...failure }));
}
