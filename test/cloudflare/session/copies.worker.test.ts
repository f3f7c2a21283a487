/** Exports, imports and forks that are interrupted go on where they stopped. */
import { env, runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import { afterEach, expect, test } from 'vitest';
import { localIdentity } from '../../../src/cloudflare/auth/identity.ts';
import { toSessionName } from '../../../src/cloudflare/routes/respond.ts';
import { joinBytes } from '../../../src/core/base/bytes.ts';
import { createSession, readHistory, readObject, request, restart } from '../../client.ts';
import { die } from '../../crash.ts';
import { play } from '../../script.ts';
import { breakStorage, countWrites, mendStorage } from '../../storage.ts';

afterEach(mendStorage);

const lineType = { 'content-type': 'application/x-ndjson' };

/** A session with runs, a long result, state and files. Three files have several pieces, and one is in the bucket. */
async function createFull(): Promise<string> {
	const id = await createSession();
	const call = (name: string, input: object) => ({ toolCalls: [{ id: name, name, input: { ...input } }] });
	play(call('long', { characters: 300_000 }), 'Long.', call('remember', { key: 'n' }), 'Two it is. ü');
	for (const text of ['One', 'Two']) await (await request(`/v1/sessions/${id}/messages`, { text })).json();
	for (const [path, size] of [
		['a.bin', 300_000],
		['b.bin', 1_600_000],
		['c.txt', 20],
		['d.bin', 300_001],
	] as const) {
		const body = new Uint8Array(size).map((_, at) => (at * size) % 251);
		await SELF.fetch(`http://localhost/v1/sessions/${id}/files/${path}`, { method: 'PUT', body });
	}
	return id;
}

async function exportLines(id: string, cursor?: string): Promise<string> {
	const query = cursor === undefined ? '' : `?cursor=${cursor}`;
	const response = await request(`/v1/sessions/${id}/export${query}`, undefined, { accept: 'application/x-ndjson' });
	expect(response.status).toBe(200);
	return response.text();
}

/** What two copies of a session have in common: all but their names, times and budgets. */
async function readContent(id: string): Promise<unknown> {
	const lines = (await exportLines(id)).trimEnd().split('\n');
	return lines.slice(1).flatMap((line) => {
		const { run, file, message, state, end: _, spending: __ } = JSON.parse(line);
		if (message !== undefined) return [{ role: message.role, content: message.content, id: message.id }];
		if (file !== undefined) return [{ ...file, modifiedAt: undefined }];
		return run === undefined && state === undefined ? [] : [run?.id ?? state];
	});
}

function readBytes(text: string): Uint8Array<ArrayBuffer> {
	return joinBytes(text);
}

interface Part {
	readonly from: number;
	readonly to: number;
	readonly of: Uint8Array<ArrayBuffer>;
}

const sendPart = (key: string, { from, to, of }: Part) =>
	SELF.fetch('http://localhost/v1/sessions/import', {
		method: 'POST',
		body: of.slice(from, to),
		headers: { ...lineType, 'idempotency-key': key, 'content-range': `bytes ${from}-${to - 1}/${of.length}` },
	});

const askArrived = async (key: string, of: Uint8Array): Promise<number> => {
	const headers = { ...lineType, 'idempotency-key': key, 'content-range': `bytes */${of.length}` };
	const response = await SELF.fetch('http://localhost/v1/sessions/import', { method: 'POST', headers });
	expect(response.status).toBe(202);
	return (await response.json<{ offset: number }>()).offset;
};

/** The id of the session that a request with a key makes. */
function findId(key: string): string {
	return env.SESSIONS.idFromName(toSessionName({ owner: 'local' }, 'idempotency', key)).toString();
}

test.each([400_100, 100_003])('imports lines in parts of %i bytes, with a crash after each part', async (length) => {
	const id = await createFull();
	const lines = readBytes(await exportLines(id));
	const key = crypto.randomUUID();
	for (let from = 0, parts = 0; ; parts++) {
		expect(parts).toBeLessThan(100);
		let size = length;
		let response = await sendPart(key, { from, to: Math.min(from + size, lines.length), of: lines });
		// A line may be longer than a part.
		for (
			;
			response.status === 400;
			response = await sendPart(key, { from, to: Math.min(from + size, lines.length), of: lines })
		)
			size *= 2;
		const answer = await response.json<{ offset?: number; id?: string }>();
		if (response.status === 201) {
			expect(answer.id).toBe(findId(key));
			expect(parts).toBeGreaterThan(2);
			break;
		}
		expect(response.status).toBe(202);
		expect(answer.offset).toBeGreaterThan(from);
		from = answer.offset ?? 0;
		expect((await request(`/v1/sessions/${findId(key)}`)).status).toBe(404);
		await restart(findId(key));
		expect(await askArrived(key, lines)).toBe(from);
	}
	expect(await readContent(findId(key))).toEqual(await readContent(id));
	// The last part may be sent again.
	const again = await sendPart(key, { from: lines.length - 10, to: lines.length, of: lines });
	expect(again.status).toBe(201);
});

test('an import whose connection breaks goes on where it stopped', async () => {
	const id = await createFull();
	const lines = readBytes(await exportLines(id));
	const key = crypto.randomUUID();
	const broken = new IdentityTransformStream();
	const writer = broken.writable.getWriter();
	const importer = { owner: 'local', by: localIdentity.by, once: { key, request: 'r' } };
	const imported = env.SESSIONS.get(env.SESSIONS.idFromString(findId(key))).import(importer, broken.readable);
	await writer.write(lines.slice(0, 700_000));
	await writer.abort(new Error('cut'));
	expect(await imported).toMatchObject({ ok: false });
	const from = await askArrived(key, lines);
	expect(from).toBeGreaterThan(100_000);
	expect(from).toBeLessThanOrEqual(700_000);
	expect((await sendPart(key, { from, to: lines.length, of: lines })).status).toBe(201);
	expect(await readContent(findId(key))).toEqual(await readContent(id));
});

test('refuses a part that does not begin where the last one ended, and says where to go on', async () => {
	const lines = readBytes(await exportLines(await createFull()));
	const key = crypto.randomUUID();
	const { offset } = await (await sendPart(key, { from: 0, to: 500_000, of: lines })).json<{ offset: number }>();
	const refused = await sendPart(key, { from: offset + 1, to: lines.length, of: lines });
	expect(refused.status).toBe(409);
	expect(await refused.json()).toMatchObject({ error: { code: 'conflict', data: { offset } } });
	const headers = { ...lineType, 'content-range': 'bytes 0-9/20' };
	const body = { method: 'POST', headers, body: '{"x":1}\n' };
	expect((await SELF.fetch('http://localhost/v1/sessions/import', body)).status).toBe(400);
});

test('a request without a part begins the import anew', async () => {
	const id = await createFull();
	const text = await exportLines(id);
	const lines = readBytes(text);
	const key = crypto.randomUUID();
	expect((await sendPart(key, { from: 0, to: 900_000, of: lines })).status).toBe(202);
	const headers = { ...lineType, 'idempotency-key': key };
	const whole = await SELF.fetch('http://localhost/v1/sessions/import', { method: 'POST', body: text, headers });
	expect(whole.status).toBe(201);
	expect(await readContent(findId(key))).toEqual(await readContent(id));
});

test('removes what arrived of an import a day after its last part', async () => {
	const lines = readBytes(await exportLines(await createFull()));
	const key = crypto.randomUUID();
	expect((await sendPart(key, { from: 0, to: 900_000, of: lines })).status).toBe(202);
	const copy = readObject(findId(key));
	await runDurableObjectAlarm(copy);
	const alarm = await runInDurableObject(copy, (_, { storage }) => storage.getAlarm());
	expect(alarm).toBeGreaterThan(Date.now() + 86_000_000);
	await runInDurableObject(copy, (_, { storage }) => {
		storage.sql.exec("UPDATE session SET importing = json_set(importing, '$.at', 1)");
	});
	await restart(findId(key));
	await runDurableObjectAlarm(readObject(findId(key)));
	expect(await askArrived(key, lines)).toBe(0);
	await runInDurableObject(readObject(findId(key)), (_, { storage }) =>
		expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'message'").toArray()).toEqual([]),
	);
});

test('an export goes on at each of its cursors, also after a crash and in a session that has changed', async () => {
	const id = await createFull();
	const lines = (await exportLines(id, 'start')).trimEnd().split('\n');
	const cursors = lines.flatMap((line, at) => (line.startsWith('{"cursor"') ? [[at, JSON.parse(line).cursor]] : []));
	expect(cursors.length).toBeGreaterThan(2);
	await restart(id);
	play('Three.');
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Three' })).json();
	for (const [at, cursor] of cursors)
		expect((await exportLines(id, cursor)).trimEnd().split('\n')).toEqual(lines.slice(at + 1));
	const imported = await SELF.fetch('http://localhost/v1/sessions/import', {
		method: 'POST',
		body: lines.join('\n'),
		headers: lineType,
	});
	const copy = await imported.json<{ id: string }>();
	expect((await readHistory(copy.id)).map(({ content }) => content).at(-1)).toBe('Two it is. ü');
});

test('refuses a cursor within a file that was replaced meanwhile', async () => {
	const id = await createFull();
	const lines = (await exportLines(id, 'start')).trimEnd().split('\n');
	const isInFile = (line?: string) => line?.includes('"b.bin"') === true;
	const at = lines.findIndex((_, n) => isInFile(lines[n - 1]) && !isInFile(lines[n]) && isInFile(lines[n + 1]));
	const { cursor } = JSON.parse(lines[at] ?? '');
	await SELF.fetch(`http://localhost/v1/sessions/${id}/files/b.bin`, {
		method: 'PUT',
		body: new Uint8Array(1_600_000),
	});
	const headers = { accept: 'application/x-ndjson' };
	expect((await request(`/v1/sessions/${id}/export?cursor=${cursor}`, undefined, headers)).status).toBe(409);
});

test('refuses a cursor for a document, and a text that is no cursor', async () => {
	const id = await createSession();
	expect((await request(`/v1/sessions/${id}/export?cursor=start`)).status).toBe(400);
	const headers = { accept: 'application/x-ndjson' };
	expect((await request(`/v1/sessions/${id}/export?cursor=e30`, undefined, headers)).status).toBe(400);
});

const startFork = (id: string, key: string) =>
	request(`/v1/sessions/${id}/fork`, {}, { 'idempotency-key': key }).catch(() => undefined);

/** Counts the writes of a fork's object. */
async function countForkWrites(id: string): Promise<number> {
	const key = crypto.randomUUID();
	breakStorage(() => false, findId(key));
	expect((await startFork(id, key))?.status).toBe(201);
	const writes = countWrites();
	mendStorage();
	return writes;
}

test('a fork whose object dies at any write goes on by itself, and is whole', async () => {
	const id = await createFull();
	const content = await readContent(id);
	const writes = await countForkWrites(id);
	expect(writes).toBeGreaterThan(30);
	let goneOn = 0;
	for (let at = 2; at < writes; at += 3) {
		const key = crypto.randomUUID();
		const copy = findId(key);
		breakStorage((n) => {
			if (n === at) void die(copy, { isDurable: at % 2 === 0 });
			return false;
		}, copy);
		await startFork(id, key);
		mendStorage();
		const isBegun = await runInDurableObject(readObject(copy), (_, { storage }) => storage.sql.databaseSize > 8_192);
		if (isBegun) {
			await runDurableObjectAlarm(readObject(copy));
			await expect.poll(async () => (await request(`/v1/sessions/${copy}`)).status).toBe(200);
			goneOn++;
		} else expect((await startFork(id, key))?.status).toBe(201);
		expect(await readContent(copy)).toEqual(content);
	}
	expect(goneOn).toBeGreaterThan(5);
});

test('a fork that was interrupted ends when its original is deleted', async () => {
	const id = await createFull();
	const key = crypto.randomUUID();
	const copy = findId(key);
	const writes = await countForkWrites(id);
	breakStorage((n) => {
		if (n === Math.floor(writes / 2)) void die(copy, { isDurable: true });
		return false;
	}, copy);
	await startFork(id, key);
	mendStorage();
	const countTables = () =>
		runInDurableObject(
			readObject(copy),
			(_, { storage }) => storage.sql.exec('SELECT 1 FROM sqlite_master').toArray().length,
		);
	expect(await countTables()).toBeGreaterThan(0);
	await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
	await runDurableObjectAlarm(readObject(copy));
	await expect.poll(countTables).toBe(0);
	expect((await startFork(id, key))?.status).toBe(404);
});
