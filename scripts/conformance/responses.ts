/** The cases of Open Responses. The model of `worker.ts` answers them. */
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import * as v from 'valibot';
import { compaction, type Response, response, type StreamEvent, socketFailure, streamEvent } from './open-responses.ts';

/** Checks a server. `url` is its address up to `/v1`. */
type Run = (url: string) => Promise<unknown>;

const model = 'responses';

const weather = {
	type: 'function',
	name: 'weather',
	description: 'The weather of a place.',
	parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const asksForTool = { input: 'Does it rain in Oslo?', tools: [weather] };
const dot =
	'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const page = 'data:application/pdf;base64,JVBERi0xLjEKJSVFT0Y=';

const say = (content: unknown, role = 'user') => ({ type: 'message', role, content });
const withPart = (part: object) => ({ input: [say([{ type: 'input_text', text: 'What is this?' }, part])] });

async function post(url: string, path: string, body: object): Promise<globalThis.Response> {
	const headers = { 'content-type': 'application/json' };
	return fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function readJson(answer: globalThis.Response): Promise<unknown> {
	const text = await answer.text();
	assert.equal(answer.status, 200, text);
	return JSON.parse(text);
}

async function create(url: string, body: object): Promise<Response> {
	return v.parse(response, await readJson(await post(url, 'responses', { model, ...body })));
}

async function stream(url: string, body: object): Promise<readonly StreamEvent[]> {
	const answer = await post(url, 'responses', { model, ...body, stream: true });
	const text = await answer.text();
	assert.equal(answer.status, 200, text);
	return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => v.parse(streamEvent, JSON.parse(data)));
}

async function compact(url: string, input: readonly object[]) {
	return v.parse(compaction, await readJson(await post(url, 'responses/compact', { model, input })));
}

type Failure = v.InferOutput<typeof socketFailure>['error'];

/** An open WebSocket. `ask` sends a request, and returns the response of its last event, or its failure. */
class Socket {
	readonly #socket: WebSocket;
	readonly #messages: AsyncIterator<readonly unknown[]>;

	static async open(url: string): Promise<Socket> {
		const socket = new Socket(url);
		await once(socket.#socket, 'open');
		return socket;
	}

	private constructor(url: string) {
		this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/responses`);
		this.#messages = on(this.#socket, 'message', { close: ['close'] })[Symbol.asyncIterator]();
	}

	async ask(body: object): Promise<{ readonly response?: Response; readonly failure?: Failure }> {
		this.#socket.send(JSON.stringify({ type: 'response.create', model, store: false, ...body }));
		for (;;) {
			const { value = [], done } = await this.#messages.next();
			assert.ok(!done, 'The WebSocket closed before the last event.');
			const said: unknown = JSON.parse(String(Reflect.get(Object(value[0]), 'data')));
			const failed = v.safeParse(socketFailure, said);
			if (failed.success) return { failure: failed.output.error };
			const ended = findLast([v.parse(streamEvent, said)]);
			if (ended !== undefined) return { response: ended };
		}
	}

	async create(body: object): Promise<Response> {
		const { response: made, failure } = await this.ask(body);
		return made ?? assert.fail(JSON.stringify(failure));
	}

	/** Sends a request that must be refused because its `previous_response_id` is not known. */
	async miss(previous_response_id: string): Promise<void> {
		const { failure } = await this.ask({ previous_response_id, input: 'Go on.' });
		assert.equal(failure?.code, 'previous_response_not_found');
	}

	close(): void {
		this.#socket.close();
	}
}

async function overSocket(url: string, run: (socket: Socket) => Promise<unknown>): Promise<void> {
	const socket = await Socket.open(url);
	try {
		await run(socket);
	} finally {
		socket.close();
	}
}

/** Returns the response of the last event, if it ends the stream. */
function findLast(events: readonly StreamEvent[]): Response | undefined {
	const last = events.at(-1);
	switch (last?.type) {
		case 'response.completed':
		case 'response.incomplete':
		case 'response.failed':
			return last.response;
		default:
			return undefined;
	}
}

/** The response has a text that says how many messages the model read. */
function assertRead({ status, output }: Response, messages: number): void {
	assert.equal(status, 'completed');
	const said = output.flatMap((one) => (one.type === 'message' ? one.content : []));
	assert.equal(said.map(({ text }) => text).join(), `I read ${messages}.`);
}

function findCall({ status, output }: Response) {
	assert.equal(status, 'completed');
	const call = output.find(({ type }) => type === 'function_call');
	assert.ok(call?.type === 'function_call', 'There is no call.');
	assert.deepEqual([call.name, JSON.parse(call.arguments)], ['weather', { location: 'Oslo' }]);
	return call;
}

const talk = [say('We start on Tuesday.'), say('I see.', 'assistant')];

export const cases: Readonly<Record<string, Run>> = {
	'a text': async (url) => assertRead(await create(url, { input: [say('Hello.')] }), 1),
	'a text in events': async (url) => {
		const events = await stream(url, { input: [say('Think.')] });
		assertRead(findLast(events) ?? assert.fail('There is no last event.'), 1);
		const types = events.map(({ type }) => type);
		assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress']);
		for (const part of ['reasoning_summary_text.delta', 'output_text.delta', 'output_text.annotation.added'] as const)
			assert.ok(types.includes(`response.${part}`), part);
		const numbers = events.map(({ sequence_number }) => sequence_number);
		assert.deepEqual(
			numbers,
			[...new Set(numbers)].sort((a, b) => a - b),
		);
	},
	'a system message': async (url) =>
		assertRead(await create(url, { input: [say('Be brief.', 'system'), say('Hello.')] }), 2),
	'a conversation that the client keeps': async (url) =>
		assertRead(await create(url, { input: [...talk, say('When do we start?')] }), 3),
	'messages with a phase': async (url) => {
		const said = [
			{ ...say('I look.', 'assistant'), phase: 'commentary' },
			{ ...say('Four.', 'assistant'), phase: 'final_answer' },
		];
		assertRead(await create(url, { input: [...said, say('Again.')] }), 3);
	},
	'an image': async (url) => assertRead(await create(url, withPart({ type: 'input_image', image_url: dot })), 1),
	'a file': async (url) =>
		assertRead(await create(url, withPart({ type: 'input_file', filename: 'a.pdf', file_data: page })), 1),
	'a call of a tool': async (url) => findCall(await create(url, asksForTool)),
	'a call of a tool in events': async (url) => {
		const events = await stream(url, asksForTool);
		findCall(findLast(events) ?? assert.fail('There is no last event.'));
		const added = events.flatMap((one) => (one.type === 'response.output_item.added' ? [one.item.type] : []));
		assert.deepEqual(added, ['function_call']);
		const types = events.map(({ type }) => type);
		assert.ok(types.includes('response.function_call_arguments.delta'));
		assert.ok(types.includes('response.function_call_arguments.done'));
	},
	'the result of a call': async (url) => {
		const first = await create(url, { ...asksForTool, tool_choice: { type: 'function', name: 'weather' } });
		const { call_id } = findCall(first);
		const input = [{ type: 'function_call_output', call_id, output: 'Rain.' }];
		assertRead(await create(url, { previous_response_id: first.id, input }), 3);
	},
	'a response after another': async (url) => {
		const { id } = await create(url, { input: 'Hello.' });
		assertRead(await create(url, { previous_response_id: id, input: 'Go on.' }), 3);
	},
	'a run that fails in events': async (url) => {
		const last = findLast(await stream(url, { input: 'Fail.' }));
		assert.equal(last?.status, 'failed');
		assert.ok(last?.error);
	},
	'a compaction': async (url) => {
		const { output } = await compact(url, talk);
		assert.deepEqual(
			output.map(({ type }) => type),
			['compaction'],
		);
		assertRead(await create(url, { input: [...output, say('When do we start?')] }), 1);
	},
	'a compaction without a model is refused': async (url) => {
		const { status } = await post(url, 'responses/compact', { input: talk });
		assert.ok(status === 400 || status === 422, String(status));
	},
	'a WebSocket: one response after the other': (url) =>
		overSocket(url, async (socket) => {
			assertRead(await socket.create({ input: 'One.', store: true }), 1);
			assertRead(await socket.create({ input: 'Two.' }), 1);
		}),
	'a WebSocket: a response that is not stored goes on': (url) =>
		overSocket(url, async (socket) => {
			const { id } = await socket.create({ input: 'Hello.' });
			assertRead(await socket.create({ previous_response_id: id, input: 'Go on.' }), 3);
		}),
	'a WebSocket: a response that is not stored ends with its connection': async (url) => {
		let id = '';
		await overSocket(url, async (socket) => {
			({ id } = await socket.create({ input: 'Hello.' }));
		});
		await overSocket(url, async (socket) => {
			await socket.miss(id);
			assertRead(await socket.create({ input: 'Hello again.' }), 1);
		});
	},
	'a WebSocket: after an unknown response': (url) => overSocket(url, (socket) => socket.miss('resp_none')),
	'a WebSocket: a failure ends a conversation that is not stored': (url) =>
		overSocket(url, async (socket) => {
			const { id } = await socket.create({ input: 'Hello.' });
			const input = [{ type: 'function_call_output', call_id: 'call_none', output: 'Rain.' }];
			const { failure } = await socket.ask({ previous_response_id: id, input });
			assert.ok(failure, 'There was no failure.');
			await socket.miss(id);
		}),
	'a WebSocket: a conversation goes on from a compaction': async (url) => {
		const { output } = await compact(url, talk);
		await overSocket(url, async (socket) =>
			assertRead(await socket.create({ input: [...output, say('When do we start?')], tools: [] }), 1),
		);
	},
};
