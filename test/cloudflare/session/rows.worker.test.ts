/** The rows and the statements of a turn. A late report of another test would count, so each test ends with `settle`. */
import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { allEvents, createSession, querySession, readNextAlarm, request, restart, send } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';

/** Waits until the owner's list and ledger got the session's reports. */
const settle = (id: string) => expect.poll(() => readNextAlarm(id)).toBeNull();

/** Counts the reports that are not delivered. */
const countOwed = (id: string) => querySession(id, 'SELECT 1 FROM outbox').then((rows) => rows.length);

test('a turn writes the same number of rows for any number of deltas', async () => {
	const written = async (deltas: number): Promise<number> => {
		const id = await createSession();
		await settle(id);
		const takeWork = countWork(id);
		play({ text: 'x'.repeat(deltas), deltas: Array.from({ length: deltas }, () => ({ type: 'text', text: 'x' })) });
		await allEvents(await send(id, 'go'));
		await expect.poll(() => countOwed(id)).toBe(0);
		const rows = takeWork().reduce((sum, work) => sum + work.rows, 0);
		await settle(id);
		return rows;
	};
	const [few, many] = [await written(10), await written(10_000)];
	console.log(`rows written by a turn of 10 deltas: ${few}, of 10,000 deltas: ${many}`);
	expect(many).toBe(few);
	expect(few).toBeLessThanOrEqual(8);
});

test.each([
	['', false],
	[', also after a restart', true],
])('a turn without drafts in an existing session writes at most eight rows in all objects%s', async (_, dies) => {
	const id = await createSession();
	play('One.', 'Two.', 'Three.');
	for (const text of ['go', 'go on']) {
		await allEvents(await send(id, text));
		await settle(id);
	}
	if (dies) await restart(id);
	const takeWork = countWork();
	await allEvents(await send(id, 'go on'));
	await expect.poll(() => countOwed(id)).toBe(0);
	const work = takeWork().filter(({ rows }) => rows > 0);
	await settle(id);
	expect(
		work.reduce((sum, { rows }) => sum + rows, 0),
		JSON.stringify(work),
	).toBeLessThanOrEqual(8);
});

test('writes the row of a new session once, with its title and its token', async () => {
	play('done');
	const takeWork = countWork();
	const created = await request('/v1/sessions', { agent: 'scripted', text: 'go', metadata: { user: 'ada' } });
	const { id, token }: { id: string; token: string } = await created.json();
	const work = takeWork().filter(({ object, what, rows }) => object === id && rows > 0 && /\bsession\b/.test(what));
	await settle(id);
	expect(work.filter(({ what }) => !what.trim().startsWith('CREATE'))).toMatchObject([{ rows: 1 }]);
	const { headers } = await SELF.fetch(`http://localhost/v1/sessions/${id}/messages`, {
		headers: { authorization: `Bearer ${token}` },
	});
	expect(headers.get('content-type')).toContain('json');
});

test('a live object needs few statements for a turn', async () => {
	const again = (key: string) => ({
		text: 'So.',
		toolCalls: [{ id: key, name: 'again', input: { key, hangs: false } }],
	});
	const id = await createSession();
	play('One.', 'Two.', again('a'), again('b'), again('c'), 'Three.');
	await allEvents(await send(id, 'go'));
	for (const [text, most] of [
		['a turn', 8],
		['three turns of a tool, and one more', 18],
	] as const) {
		await settle(id);
		const takeWork = countWork(id);
		await allEvents(await send(id, text));
		const all = takeWork().map(({ what }) => what);
		const work = all.slice(0, 1 + all.findIndex((what) => what.startsWith('INSERT OR REPLACE INTO run')));
		expect(work).not.toEqual([]);
		expect(work.length, work.join('\n')).toBeLessThanOrEqual(most);
	}
});
