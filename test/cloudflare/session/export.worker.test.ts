import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { exportStream } from '../../../src/cloudflare/session/ui/export.ts';
import { createSession, readEvents, readHistory, readObject, readState, request, restart, send } from '../../client.ts';
import { counted } from '../../rows.ts';
import { play } from '../../script.ts';

interface Exported {
	readonly session: Record<string, unknown>;
	readonly runs: readonly Record<string, unknown>[];
	readonly spending: readonly { readonly tokens: number; readonly isSettled: boolean; readonly runId: string }[];
	readonly waiting: readonly Record<string, unknown>[];
	readonly messages: readonly { readonly role: string; readonly content: unknown; readonly [more: string]: unknown }[];
}

/** The files of a session without files. */
const noFiles = { findPlace: () => ({ placed: undefined, start: 0 }), readPieces: async function* () {} };
const call = (id: string, name: string, input: object) => ({ id, name, input: { ...input } });
const readExport = async (id: string): Promise<Exported> => (await request(`/v1/sessions/${id}/export`)).json();
const readLines = async (id: string) => {
	const response = await request(`/v1/sessions/${id}/export`, undefined, { accept: 'application/x-ndjson' });
	expect(response.headers.get('content-type')).toBe('application/x-ndjson');
	const text = await response.text();
	expect(text.endsWith('\n')).toBe(true);
	return text
		.trimEnd()
		.split('\n')
		.map((line): Record<string, unknown> => JSON.parse(line));
};
const say = async (id: string, body: object, headers: Record<string, string> = {}) =>
	(await request(`/v1/sessions/${id}/messages`, body, headers)).json();

test('exports the state, the runs, the spending, and the history with the origin of its messages', async () => {
	const metadata = { customer: '42' };
	const made = await request('/v1/sessions', { agent: 'scripted', metadata, budget: { tokens: 9_000_000 } });
	const { id } = await made.json<{ id: string }>();
	play({ toolCalls: [call('l', 'long', { characters: 300_000 })] }, 'Long.', {
		toolCalls: [call('q', 'ask', { question: 'When?' })],
	});
	await say(id, { text: 'One' });
	const attachments = [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }];
	await say(id, { text: 'Two', attachments });
	const { session, runs, spending, waiting, messages } = await readExport(id);
	const state = await readState(id);
	const stored = { createdBy: { owner: 'local', via: 'key', id: 'local' } };
	expect(state).toMatchObject({ title: 'One' });
	expect(session).toEqual({ version: 1, ...state, labels: undefined, dayBudget: undefined, owner: 'local', stored });
	expect(session).toMatchObject({ metadata, status: 'awaiting_user', question: { question: 'When?' } });
	expect(runs).toMatchObject([{ status: 'completed' }, { status: 'awaiting_user', lives: 1, model: 'scripted' }]);
	expect(runs[1]?.id).toBe(Object(state.run).id);
	expect(spending.map(({ runId }) => runId)).toEqual([runs[0]?.id, runs[0]?.id, runs[1]?.id]);
	expect(spending.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(state.budget.spent.tokens);
	expect(spending.every(({ isSettled }) => isSettled)).toBe(true);
	expect(waiting).toEqual([]);
	expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
	expect(messages[0]).toMatchObject({ content: 'One', sender: 'local', transport: 'http' });
	expect(messages[2]?.content).toBe('x'.repeat(300_000));
	expect(messages[4]).toMatchObject({ attachments: [{ name: 'a.csv', type: 'text/csv', size: 3 }] });
	// Labels are made of the stored messages, so an export has none.
	const rest = { content: undefined, isCut: undefined, labels: undefined };
	const shown = (await readHistory(id)).map((message) => ({ ...message, ...rest }));
	const exported = messages.map(({ sender: _, transport: __, stored: ___, ...message }) => ({
		...message,
		...rest,
	}));
	expect(exported).toEqual(shown);
});

test('exports the same records as lines, and the last line has their counts', async () => {
	const id = await createSession();
	play('1', '2');
	await say(id, { text: 'One' });
	await say(id, { text: 'Two' });
	const whole = await readExport(id);
	expect(await readLines(id)).toEqual([
		{ session: whole.session },
		...whole.runs.map((run) => ({ run })),
		...whole.spending.map((spending) => ({ spending })),
		...whole.messages.map((message) => ({ message })),
		{ end: { runs: 2, spending: 2, state: 0, notes: 0, waiting: 0, files: 0, messages: 4 } },
	]);
});

test('exports a session without a run', async () => {
	const id = await createSession();
	expect(await readExport(id)).toMatchObject({ session: { id }, runs: [], spending: [], waiting: [], messages: [] });
	expect((await readLines(id)).at(-1)).toEqual({
		end: { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0 },
	});
});

test('exports queued messages and interrupted turns, also after a crash', async () => {
	const id = await createSession();
	const search = { type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain' } };
	const source = { type: 'source', id: 'p1', url: 'https://rain.example/' };
	play((_request, onDelta) => {
		void onDelta(search);
		void onDelta(source);
		void onDelta({ type: 'text', text: 'Half of the ans' });
		return new Promise(() => {});
	});
	const events = readEvents(await send(id, 'One'));
	for await (const { type } of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) })
		if (type === 'text') break;
	await say(id, { text: 'Two' }, { prefer: 'respond-async' });
	const during = await readExport(id);
	expect(during.waiting).toMatchObject([{ content: 'Two', sender: 'local', transport: 'http' }]);
	expect(during.runs).toMatchObject([{ status: 'running' }]);
	await request(`/v1/sessions/${id}/cancel`, {});
	await Array.fromAsync(events);
	const before = await readExport(id);
	expect(before.runs).toMatchObject([{ status: 'cancelled', partialText: 'Half of the ans' }]);
	expect(before.runs[0]).toMatchObject({ stored: { end: { draft: [search, source, { type: 'text' }] } } });
	await restart(id);
	expect(await readExport(id)).toEqual(before);
});

test('exports a long session at the pace of its reader', async () => {
	const id = await createSession();
	await runInDurableObject(readObject(id), async (_, ctx) => {
		const full = new SessionStore(ctx.storage);
		for (let n = 0; n < 1_000; n++) full.messages.add(0, { role: 'user', content: `${n} ${'y'.repeat(4_000)}` }, 1);
		const { storage, rows } = counted(ctx.storage);
		const about = JSON.parse(await (await request(`/v1/sessions/${id}/export`)).text()).session;
		rows();
		const whole = {
			store: new SessionStore(storage),
			files: noFiles,
			about,
			authorization: { isThere: true },
		} as const;
		const reader = exportStream({ ...whole, form: 'json' }).getReader();
		rows();
		let text = '';
		const decoder = new TextDecoder();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			text += decoder.decode(value, { stream: true });
			expect(value.byteLength).toBeLessThan(200_000);
			// A piece has about 16 of the messages.
			expect(rows().read).toBeLessThan(120);
		}
		expect(JSON.parse(text).messages).toHaveLength(1_000);
	});
});

test('breaks off an export when the session is removed', async () => {
	const id = await createSession();
	await runInDurableObject(readObject(id), async (_, ctx) => {
		const store = new SessionStore(ctx.storage);
		for (let n = 0; n < 100; n++) store.messages.add(0, { role: 'user', content: 'y'.repeat(4_000) }, 1);
		const authorization = { isThere: true };
		const about = JSON.parse(await (await request(`/v1/sessions/${id}/export`)).text()).session;
		const whole = { store, files: noFiles, about, authorization } as const;
		const reader = exportStream({ ...whole, form: 'ndjson' }).getReader();
		expect((await reader.read()).done).toBe(false);
		authorization.isThere = false;
		const rest = async () => {
			while (!(await reader.read()).done);
		};
		await expect(rest()).rejects.toThrow('removed');
	});
});

test('names the file of an export after the session, and lets no proxy cache it', async () => {
	const id = await createSession();
	const { headers } = await request(`/v1/sessions/${id}/export`);
	expect(headers.get('content-disposition')).toBe(`attachment; filename="session-${id}.json"`);
	expect(headers.get('cache-control')).toBe('no-store');
});
