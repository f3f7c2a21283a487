import { expect } from 'vitest';
import { call, reasoning, type Stage, text } from '../ui/stage.ts';
import type { Client, Talk, Terms, Way } from './client.ts';

/** A client in one of its ways, at a server. */
export interface Seat {
	readonly stage: Stage;
	readonly client: Client;
	readonly way: Way;
}

/** A test of a client. Its text is what `docs/clients.md` says. */
export interface Step {
	readonly text: string;
	readonly run: (seat: Seat) => Promise<void>;
}

function open({ stage, client, way }: Seat, terms: Partial<Terms> = {}): Talk {
	return client.open({ url: stage.url, agent: 'desk', isStreamed: way === 'stream', ...terms });
}

/** A session of its own for protocols whose requests name it by a header. */
const createHeaders = () => ({ 'Runlet-Session': crypto.randomUUID() });

/** Finds the one session that has this status. */
async function findSession({ url }: Stage, status: string): Promise<string> {
	const find = async (): Promise<string | undefined> => {
		const { sessions } = await (await fetch(`${url}/v1/sessions?status=${status}`)).json();
		return sessions[0]?.id;
	};
	await expect.poll(find).toBeDefined();
	return (await find()) ?? '';
}

async function post({ url }: Stage, path: string, body: unknown = {}): Promise<Response> {
	const headers = { 'content-type': 'application/json' };
	return fetch(`${url}/v1/sessions/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function readStatus({ url }: Stage, id: string): Promise<string> {
	return (await (await fetch(`${url}/v1/sessions/${id}`)).json()).run.status;
}

/** A turn whose end waits until the client has left, or has its beginning. */
function createLongTurn() {
	const begun = Promise.withResolvers<void>();
	const going = Promise.withResolvers<void>();
	const turn = async ({ say }: { say: (line: ReturnType<typeof text>) => void }) => {
		say(text('Long '));
		begun.resolve();
		await going.promise;
		say(text('ago.'));
	};
	return { turn, begun: begun.promise, goOn: going.resolve };
}

/**
 * Loses the first answer that the server gives within `run`: the client sees a broken connection. Clients do not wait
 * before they try again.
 */
async function loseAnswer(run: () => Promise<unknown>): Promise<void> {
	const { fetch: real, setTimeout: wait } = globalThis;
	let isLost = false;
	Reflect.set(globalThis, 'setTimeout', (done: () => void, ms: number, ...more: []) =>
		wait(done, ms < 10_000 ? 1 : ms, ...more),
	);
	globalThis.fetch = async (...request) => {
		const response = await real(...request);
		if (isLost) return response;
		isLost = true;
		await response.body?.cancel();
		throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
	};
	try {
		await run();
	} finally {
		globalThis.fetch = real;
		globalThis.setTimeout = wait;
	}
}

const failing = [[call('a', 'add', { x: 1, y: 2 })], [{ type: 'fail', message: 'broken' } as const]];
const oslo = { city: 'Oslo', people: 700_000 };

/** The columns of the matrix: each is the same test for all clients. */
export const columns: Readonly<Record<string, Step>> = {
	answer: {
		text: 'gets the answer of an agent that thinks and calls its own tools',
		run: async (seat) => {
			const sent = seat.stage.play(
				[reasoning('Hm.'), text('Wait.'), call('a', 'add', { x: 1, y: 2 })],
				[text('It is 3.')],
			);
			expect(await open(seat).say('Go')).toMatch(/It is 3\.$/);
			expect(sent).toHaveLength(2);
		},
	},
	tools: {
		text: 'runs the calls of its own tools, and the agent goes on with their results',
		run: async (seat) => {
			const { tool = 'weather' } = seat.client;
			const sent = seat.stage.play([text('Let me look.'), call('w', tool, { at: 'Oslo' })], [text('It rains.')]);
			expect(await open(seat, { hasTool: true }).say('Go')).toContain('It rains.');
			expect(sent).toHaveLength(2);
			expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool' });
			expect(JSON.stringify(sent[1]?.at(-1)?.content)).toContain('rain in Oslo');
		},
	},
	JSON: {
		text: 'parses a structured answer',
		run: async (seat) => {
			const { jsonTool } = seat.client;
			const turns =
				jsonTool === undefined ? [[text('Oslo!')], [text(JSON.stringify(oslo))]] : [[call('j', jsonTool, oslo)]];
			seat.stage.play([call('a', 'add', { x: 1, y: 2 })], ...turns);
			expect(await open(seat).parse?.()).toEqual(oslo);
		},
	},
	approval: {
		text: 'shows a call that waits for an approval, and approves it',
		run: async (seat) => {
			const sent = seat.stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
			const talk = open(seat);
			await talk.say('Go');
			expect(sent).toHaveLength(1);
			expect(await talk.approve?.()).toContain('Paid.');
			expect(sent).toHaveLength(2);
		},
	},
	question: {
		text: 'gets the question of a tool, and the next message is its answer',
		run: async (seat) => {
			const sent = seat.stage.play([call('q', 'ask', { question: 'Which one?' })], [text('Booked.')]);
			const talk = open(seat, { headers: createHeaders() });
			expect(await talk.say('Go')).toContain('Which one?');
			expect(await talk.say('Blue')).toContain('Booked.');
			expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: 'Blue' });
		},
	},
	resume: {
		text: 'reads an answer on after it has left, and the run goes on meanwhile',
		run: async (seat) => {
			const { turn, goOn } = createLongTurn();
			const sent = seat.stage.play(turn);
			expect(await open(seat).resume?.(goOn)).toBe('Long ago.');
			expect(sent).toHaveLength(1);
		},
	},
	cancel: {
		text: 'stops a run',
		run: async (seat) => {
			const left = Promise.withResolvers<unknown>();
			seat.stage.play((turn) => {
				turn.say(text('Long '));
				turn.left.then(left.resolve);
				return left.promise.then(() => {});
			});
			await open(seat).cancel?.();
			await left.promise;
		},
	},
	retry: {
		text: 'sends a request again whose answer was lost, and joins the first run',
		run: async (seat) => {
			const sent = seat.stage.play([text('Once.')]);
			await loseAnswer(async () => expect(await open(seat).say('Go')).toBe('Once.'));
			expect(sent).toHaveLength(1);
		},
	},
	error: {
		text: 'throws the error of a failed run, and does not send the request again',
		run: async (seat) => {
			const sent = seat.stage.play(...failing, ...failing, ...failing);
			await expect(open(seat).say('Go')).rejects.toThrow();
			expect(sent).toHaveLength(2);
		},
	},
	budget: {
		text: 'throws the error of a used-up budget, and does not send the request again',
		run: async (seat) => {
			const sent = seat.stage.play([text('never')], [text('never')]);
			await expect(open(seat, { agent: 'poor' }).say('Go')).rejects.toThrow();
			expect(sent).toHaveLength(0);
		},
	},
};

/** What a client does instead. Each note is a test, too. */
export const notes: Readonly<Record<string, Step>> = {
	refused: {
		text: 'cannot show an approval: the request fails with `awaiting_tools`, and is not sent again. Approve the call in its session ([People in the loop](people.md)).',
		run: async (seat) => {
			const sent = seat.stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
			await expect(open(seat).say('Go')).rejects.toThrow(/approve/);
			await approveElsewhere(seat, sent);
		},
	},
	unseen: {
		text: 'does not show an approval. Approve the call in its session ([People in the loop](people.md)).',
		run: async (seat) => {
			const sent = seat.stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
			await open(seat)
				.say('Go')
				.catch(() => {});
			await approveElsewhere(seat, sent);
		},
	},
	leaves: {
		text: 'can only leave: an abort does not stop the run. `POST /v1/sessions/:id/cancel` does.',
		run: async (seat) => {
			const { stage } = seat;
			const { id } = await leave(seat);
			expect(await readStatus(stage, id)).toBe('running');
			await post(stage, `${id}/cancel`);
			await expect.poll(() => readStatus(stage, id)).toBe('cancelled');
		},
	},
	elsewhere: {
		text: 'cannot read an answer on. The run goes on in its session: read its [events](events.md) there.',
		run: async (seat) => {
			const { id, goOn } = await leave(seat);
			goOn();
			const events = await fetch(`${seat.stage.url}/v1/sessions/${id}/events`);
			expect(await events.text()).toContain('Long ago.');
		},
	},
	status: {
		text: 'throws nothing in a stream: the response has the status `failed`. The request is not sent again.',
		run: async (seat) => {
			const sent = seat.stage.play(...failing, ...failing, ...failing);
			await open(seat).say('Go');
			expect(sent).toHaveLength(2);
			await open(seat, { agent: 'poor' }).say('Go');
			expect(sent).toHaveLength(2);
		},
	},
	key: {
		text: 'does not say that it sends a request again, which begins a second run. Give each request an `Idempotency-Key` as a header.',
		run: async (seat) => {
			for (const [headers, runs] of [
				[{}, 2],
				[{ 'Idempotency-Key': crypto.randomUUID() }, 1],
			] as const) {
				const sent = seat.stage.play([text('Once.')], [text('Once.')]);
				await loseAnswer(async () => expect(await open(seat, { headers }).say('Go')).toBe('Once.'));
				expect(sent).toHaveLength(runs);
			}
		},
	},
	again: {
		text: 'does not send a request again by itself. If the page does, it gets the first run.',
		run: async (seat) => {
			const sent = seat.stage.play([text('Once.')]);
			const talk = open(seat);
			await loseAnswer(() => expect(talk.say('Go')).rejects.toThrow());
			expect(await talk.again?.()).toBe('Once.');
			expect(sent).toHaveLength(1);
		},
	},
	plain: {
		text: 'cannot read an answer with the agent’s own calls without a stream.',
		run: async (seat) => {
			seat.stage.play([call('a', 'add', { x: 1, y: 2 })], [text('3.')]);
			await expect(open(seat).say('Go')).rejects.toThrow();
			seat.stage.play([text('3.')]);
			expect(await open(seat).say('Go')).toBe('3.');
		},
	},
	none: {
		text: 'has no such thing.',
		run: async (seat) => {
			expect(open(seat).parse).toBeUndefined();
		},
	},
};

/** Aborts a request in the middle of its answer. Returns the session, whose run waits for `goOn`. */
async function leave(seat: Seat) {
	const { turn, begun, goOn } = createLongTurn();
	const leaving = new AbortController();
	seat.stage.play(turn);
	const refused = expect(open(seat, { signal: leaving.signal }).say('Go')).rejects.toThrow();
	await begun;
	leaving.abort();
	await refused;
	return { id: await findSession(seat.stage, 'running'), goOn };
}

/** Approves the only call that waits, over HTTP. */
async function approveElsewhere({ stage }: Seat, sent: readonly unknown[]): Promise<void> {
	expect(sent).toHaveLength(1);
	const id = await findSession(stage, 'awaiting_tools');
	await post(stage, `${id}/tool-results`, [{ id: 'p', approve: true }]);
	await expect.poll(() => readStatus(stage, id)).toBe('completed');
	expect(sent).toHaveLength(2);
}

/** The test of a client in a column: the same for all clients, or the one of its note. */
export function findStep(client: Client, way: Way, column: string): Step {
	const note = findNote(client, way, column);
	const step = note === undefined ? columns[column] : notes[note];
	if (step === undefined) throw new Error(`${client.packages[0]} has an unknown note: ${note ?? column}.`);
	return step;
}

/** The note of a client in a column. */
export function findNote({ notes = {} }: Client, way: Way, column: string): string | undefined {
	const note = notes[column];
	return typeof note === 'object' ? note[way] : note;
}
