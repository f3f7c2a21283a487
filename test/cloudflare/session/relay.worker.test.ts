import { env, runInDurableObject } from 'cloudflare:test';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import type { PassedReader, SessionApi } from '../../../src/cloudflare/objects/session-api.ts';
import { mostReaders } from '../../../src/cloudflare/session/events/log.ts';
import { RunletError } from '../../../src/core/index.ts';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readText,
	request,
	restart,
	type WireEvent,
} from '../../client.ts';
import { play } from '../../script.ts';
import { cast, createEditor } from './family.ts';
import { forever, isEnd, post } from './stage.ts';

/** A run that writes the given pieces, and ends after `finish`. */
async function begin() {
	const id = await createSession();
	const pieces: string[] = [];
	let isDone = false;
	let failure: RunletError | undefined;
	let news = Promise.withResolvers<void>();
	const wake = (): void => {
		news.resolve();
		news = Promise.withResolvers();
	};
	play(async (_, show) => {
		let text = '';
		for (;;) {
			const { promise } = news;
			for (const piece of pieces.splice(0)) {
				text += piece;
				await show({ type: 'text', text: piece });
			}
			if (failure !== undefined) throw failure;
			if (isDone) return text;
			await promise;
		}
	});
	await (await post(id)).text();
	return {
		id,
		write: (piece: string): void => {
			pieces.push(piece);
			wake();
		},
		finish: (error?: RunletError): void => {
			isDone = true;
			failure = error;
			wake();
		},
	};
}

function askObject(id: string): SessionApi {
	const { sessions } = readConfig(env as never);
	return sessions.get(sessions.idFromString(id));
}

/**
 * Opens as many readers as a session serves by itself, and returns the last of them. The others leave at the end of the
 * test.
 */
async function fill(id: string): Promise<Response> {
	const object = askObject(id);
	const open = () => object.events({ owner: 'local' }, undefined);
	const readers = await Promise.all(Array.from({ length: mostReaders - 1 }, open));
	const last = await follow(id);
	onTestFinished(async () => {
		for (const reader of readers)
			if (reader.ok && reader.value instanceof ReadableStream) await reader.value.cancel().catch(() => {});
		// A response that nothing refers to may be collected, and then the session is not full any more.
		await last.body?.cancel().catch(() => {});
	});
	return last;
}

/** Asks for the events of a full session as a route does. Returns the reader whom the session passes on. */
async function askPassed(id: string): Promise<PassedReader> {
	const asked = await askObject(id).events({ owner: 'local' }, undefined);
	if (!asked.ok || asked.value === undefined || !('relay' in asked.value)) throw new Error('The session is not full.');
	return asked.value;
}

/** Reads until these words, and leaves the rest to `rest`. */
function readTo(response: Response, words: string) {
	const events = readEvents(response);
	const read = async (): Promise<WireEvent[]> => {
		const seen: WireEvent[] = [];
		for (;;) {
			const { value, done } = await events.next();
			if (done) throw new Error(`The stream ended before "${words}".`);
			seen.push(value);
			if (readText(seen).endsWith(words)) return seen;
		}
	};
	return { read: read(), rest: () => Array.fromAsync(events) };
}

const others = (events: readonly WireEvent[]) => events.filter(({ type }) => type !== 'text');

test('a session passes on its readers beyond 1,000 to a relay, which stores nothing and has the same events', async () => {
	const { id, write, finish } = await begin();
	write('One. ');
	const direct = await fill(id);
	const first = readTo(await follow(id), 'Two. ');
	const { relay } = await askPassed(id);
	write('Two. ');
	const before = await first.read;
	const again = await follow(id, before.at(-1)?.id);
	write('Three.');
	finish();
	const [all, rest, resumed] = await Promise.all([allEvents(direct), first.rest(), allEvents(again)]);
	expect(readText(all)).toBe('One. Two. Three.');
	expect(all.at(-1)?.type).toBe('done');
	for (const events of [rest, resumed]) {
		expect(readText(events)).toBe('Three.');
		expect(others([...before, ...events])).toEqual(others(all));
	}
	const object = env.SESSIONS.get(env.SESSIONS.idFromName(relay));
	const stored = await runInDurableObject(object, async (_, { storage }) => ({
		tables: storage.sql.exec('SELECT name FROM sqlite_master').toArray(),
		alarm: await storage.getAlarm(),
	}));
	expect(stored).toEqual({ tables: [], alarm: null });
	expect((await request(`/v1/sessions/${object.id}`)).status).toBe(404);
	expect((await request(`/v1/sessions/${object.id}/events`)).status).toBe(404);
});

test('a relay ends the streams of a revoked token at once, and hides from its holder what only operators see', async () => {
	const { id, write, finish } = await begin();
	write('Hello. ');
	const direct = await fill(id);
	const make = async () => (await request(`/v1/sessions/${id}/token`, {})).json<{ token: string; tokenId: string }>();
	const [revoked, valid] = [await make(), await make()];
	const ask = ({ token }: { readonly token: string }, path = `/v1/sessions/${id}/events`) =>
		request(path, undefined, { authorization: `Bearer ${token}` });
	const page = `/v1/ui/scripted/${id}/stream`;
	const readers = [
		await ask(revoked),
		await ask(revoked, page),
		await ask(valid),
		await ask(valid, page),
		await follow(id),
	];
	expect((await request(`/v1/sessions/${id}/token/${revoked.tokenId}`, undefined, {}, 'DELETE')).status).toBe(204);
	const texts = readers.map((reader) => reader.text());
	expect(await texts[0]).toMatch(/event: closed\ndata: [^\n]*"code":"auth"[^\n]*revoked[^\n]*\n\n$/);
	expect(await texts[1]).toMatch(/data: \{"type":"error","errorText":"[^"]*revoked[^"]*"\}\n\ndata: \[DONE\]\n\n$/);
	expect((await ask(revoked)).status).toBe(401);
	finish(new RunletError('auth', 'sk-1 is wrong', { provider: 'scripted' }));
	expect(await direct.text()).toContain('sk-1');
	expect(await texts[4]).toContain('sk-1');
	for (const text of [await texts[2], await texts[3]]) {
		expect(text).toContain('The model of this service cannot be used now.');
		expect(text).not.toMatch(/sk-1|revoked/);
	}
});

test('an AI SDK page gets the same bytes from a relay as from the session', async () => {
	const { id, write, finish } = await begin();
	const page = () => request(`/v1/ui/scripted/${id}/stream`);
	const direct = await page();
	await fill(id);
	const relayed = await page();
	await askPassed(id);
	write('Hello.');
	finish();
	const [one, other] = await Promise.all([direct.text(), relayed.text()]);
	expect(one).toContain('"delta":"Hello."');
	expect(other).toBe(one);
});

test('the streams of a relay end if its object or the object of its session dies, and the readers resume', async () => {
	const { id, write, finish } = await begin();
	write('One. ');
	await fill(id);
	const reader = readTo(await follow(id), 'One. ');
	const before = await reader.read;
	const passed = await askPassed(id);
	await restart(env.SESSIONS.idFromName(passed.relay).toString());
	expect((await reader.rest().catch(() => [])).some(isEnd)).toBe(false);
	const second = readTo(await follow(id, before.at(-1)?.id), 'Two. ');
	write('Two. ');
	const more = await second.read;
	play('Again.');
	await restart(id);
	expect((await second.rest().catch(() => [])).some(isEnd)).toBe(false);
	const last = await allEvents(await follow(id, more.at(-1)?.id));
	expect(last.map(({ type }) => type)).toContain('turn.restarted');
	expect(last.at(-1)).toMatchObject({ type: 'done', data: { text: 'Again.' } });
	finish();
});

test('a relay of an earlier instance of the session, or with another owner, gets no events', async () => {
	const { id, write, finish } = await begin();
	write('One. ');
	await fill(id);
	const passed = await askPassed(id);
	const feed = (more: Partial<PassedReader>) => askObject(id).feed({ ...passed, ...more });
	expect(await feed({ live: 'earlier 1' })).toMatchObject({ ok: false, error: { code: 'overloaded' } });
	expect(await feed({ live: passed.live.replace(/1$/, '2') })).toMatchObject({
		ok: false,
		error: { code: 'overloaded' },
	});
	expect(await feed({ owner: 'another' })).toMatchObject({ ok: false, error: { code: 'not_found' } });
	const late = await askObject(env.SESSIONS.idFromName('relay late').toString()).relay({
		...passed,
		live: 'earlier 1',
	});
	expect(late.ok && (await new Response(late.value).text())).toBe('');
	finish();
});

test('a session whose agent has children serves its readers beyond 1,000 itself, so that they see the children', async () => {
	cast({ editor: [forever] });
	const id = await createEditor();
	await (await post(id)).text();
	await fill(id);
	const asked = await askObject(id).events({ owner: 'local' }, undefined);
	const events = asked.ok ? asked.value : undefined;
	expect(events).toBeInstanceOf(ReadableStream);
	await new Response(events instanceof ReadableStream ? events : null).body?.cancel();
});
