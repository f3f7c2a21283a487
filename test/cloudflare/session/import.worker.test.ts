import { env, runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import type { ApprovalRequest } from '../../../src/cloudflare/agent/approvers.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import {
	allEvents,
	createSession,
	follow,
	readHistory,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
	type WireMessage,
} from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker, { policy } from '../../worker.ts';

const call = (id: string, name: string, input: object) => ({ id, name, input: { ...input } });

interface Line {
	readonly [kind: string]: Record<string, unknown>;
}

const readLines = async (id: string): Promise<Line[]> => {
	const response = await request(`/v1/sessions/${id}/export`, undefined, { accept: 'application/x-ndjson' });
	const text = await response.text();
	return text
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
};

const readRecords = async (id: string, kind: string) =>
	(await readLines(id)).flatMap((line) => (line[kind] === undefined ? [] : [line[kind]]));

const importText = (body: string, headers: Record<string, string> = {}) =>
	SELF.fetch('http://localhost/v1/sessions/import', {
		method: 'POST',
		body,
		headers: { 'content-type': 'application/x-ndjson', ...headers },
	});
const importLines = (lines: readonly unknown[], headers?: Record<string, string>) =>
	importText(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), headers);
const readId = async (response: Response): Promise<string> => {
	const made = await response.json<{ id: string; error?: unknown }>();
	expect(made.error).toBeUndefined();
	expect(response.status).toBe(201);
	return made.id;
};
const readError = async (response: Response) => {
	const { error } = await response.json<{ error: { code: string; message: string } }>();
	return { status: response.status, ...error };
};
const fork = (id: string, body: object = {}, headers: Record<string, string> = {}) =>
	request(`/v1/sessions/${id}/fork`, body, headers);
const readFile = async (id: string, path: string) =>
	toHex(await (await request(`/v1/sessions/${id}/files/${path}`)).arrayBuffer());
const toHex = (bytes: ArrayBufferLike) =>
	Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A message without the fields of its session. */
const plain = ({ role, content, toolCallId, isError }: WireMessage) => ({ role, content, toolCallId, isError });

/** A session with two runs, calls, a long result, an attachment and files. */
async function createFull(): Promise<string> {
	const id = await createSession();
	play({ toolCalls: [call('l', 'long', { characters: 300_000 })] }, 'Long.', { reasoning: 'Hm.', text: 'Two it is.' });
	await (await request(`/v1/sessions/${id}/messages`, { text: 'One' })).json();
	const attachments = [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }];
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Two', attachments })).json();
	const big = new Uint8Array(700_000).map((_, at) => at % 251);
	const put = (path: string, body: BodyInit) =>
		SELF.fetch(`http://localhost/v1/sessions/${id}/files/${path}`, { method: 'PUT', body });
	for (const [path, body] of [
		['big.bin', big],
		['empty.txt', ''],
		['notes/plan.md', '# Plan'],
	] as const)
		expect((await put(path, body)).status).toBe(201);
	return id;
}

/** A message of a person, as an import shows it: strangers may have written the file. */
const fromOutside = <M extends { readonly role: string }>(message: M) =>
	message.role === 'user' ? { ...message, labels: ['outside'] } : message;

/**
 * A line without the times of files and the actors of an export. An import drops these actors, and a fork adds actors to
 * them.
 */
const withoutOrigin = (line: Line): Line => {
	if (line.file !== undefined) return { file: { ...line.file, modifiedAt: undefined } };
	if (line.message === undefined) return line;
	const { sender: _, transport: __, stored, ...message } = line.message;
	const { inbound, prompt: _p, decidedBy: _d, isDenied: _i, ...rest } = Object(stored);
	const { sender: ___, transport: ____, by: _____, askers: ______, requestId: _______, ...kept } = Object(inbound);
	return { message: { ...message, stored: { ...rest, ...(inbound !== undefined && { inbound: kept }) } } };
};

test('imports an export as an equal session that has spent nothing', async () => {
	const id = await createFull();
	const copy = await readId(await importLines(await readLines(id)));
	expect(copy).not.toBe(id);
	expect(await readHistory(copy)).toEqual((await readHistory(id)).map(fromOutside));
	expect((await readState(copy)).budget.spent).toEqual({ tokens: 0, usd: 0 });
	expect(await allEvents(await follow(copy))).toEqual(await allEvents(await follow(id)));
	for (const path of ['big.bin', 'empty.txt', 'notes/plan.md', 'attachments/a.csv'])
		expect(await readFile(copy, path)).toBe(await readFile(id, path));
	const kinds = (lines: readonly Line[]) => lines.filter((line) => !('session' in line) && !('spending' in line));
	const [first, second] = [kinds(await readLines(id)), kinds(await readLines(copy))];
	expect(second.slice(0, -1).map(withoutOrigin)).toEqual(first.slice(0, -1).map(withoutOrigin));
});

test('imports the edited arguments of a call with its result', async () => {
	const id = await createSession();
	play({ toolCalls: [call('a', 'pay', { amount: 5 })] }, 'Paid.');
	await allEvents(await send(id, 'Pay'));
	await (await request(`/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true, input: { amount: 3 } }])).json();
	const copy = await readId(await importLines(await readLines(id)));
	const [, , result] = await readHistory(copy);
	expect(result).toMatchObject({ toolCallId: 'a', content: 'paid 3', ranWith: { amount: 3 } });
});

/** Keys of people of an owner, and their requests to the Worker. */
async function createPeople() {
	const owner = 'importers';
	const { keys, bindings } = await createKeys({
		server: { owner },
		ada: { owner, user: 'ada', role: 'staff' },
		bob: { owner, user: 'bob', role: 'staff' },
		ann: { owner, user: 'ann', role: 'admin' },
	});
	const ask = async (name: keyof typeof keys, path: string, body?: unknown) =>
		worker.request(
			`https://runlet.example.com/v1/sessions${path}`,
			{
				method: body === undefined ? 'GET' : 'POST',
				headers: { authorization: `Bearer ${keys[name]}`, 'content-type': 'application/json' },
				...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
			},
			bindings,
		);
	type Document = { session: Record<string, unknown>; messages: Record<string, unknown>[] };
	const readDocument = async (name: keyof typeof keys, id: string) =>
		(await ask(name, `/${id}/export`)).json<Document>();
	/** The askers of the next call of a model, as the policy of the agent gets them. */
	const readAskers = async (id: string) => {
		const seen: ApprovalRequest[] = [];
		policy.allows = (request) => seen.push(request) < 0;
		try {
			play({ toolCalls: [call('paid', 'pay', { amount: 5 })] });
			await (await ask('ann', `/${id}/continue`, '')).json();
			expect((await ask('ann', `/${id}/tool-results`, [{ id: 'paid', approve: true }])).status).toBe(403);
			return seen.at(-1)?.askers.map(({ id: _, ...one }) => one);
		} finally {
			policy.allows = () => true;
		}
	};
	/** A session of ada whose last run has failed, so that it can be continued. */
	const createFailed = async () => {
		play({ text: 'One it is.', providerMetadata: { sealed: 'thought' } }, new Error('It broke.'));
		const made = await ask('ada', '', { agent: 'guarded', text: 'One' });
		const { id } = await made.json<{ id: string }>();
		await (await ask('server', `/${id}/messages`, { text: 'Two' })).json();
		return id;
	};
	return { owner, ask, readDocument, readAskers, createFailed };
}
const actorOf = (user: string, more: object = {}) => ({ owner: 'importers', user, via: 'key', ...more });

test('an import gives no authority: the importer counts as the author of all its messages', async () => {
	const { ask, readDocument, readAskers, createFailed } = await createPeople();
	const document = await readDocument('ada', await createFailed());
	const forged = { owner: 'importers', user: 'boss', via: 'account', id: 'boss' };
	for (const message of document.messages) {
		if (message.role !== 'user') continue;
		Object.assign(message, { sender: 'boss', transport: 'http' });
		Object.assign(Object(message.stored).inbound, { sender: 'boss', transport: 'http', by: forged, askers: [forged] });
	}
	Object.assign(document.session, { owner: 'others', user: 'boss', createdBy: forged });
	const imported = await ask('ann', '/import?user=kim', document);
	expect(imported.status).toBe(201);
	const { id } = await imported.json<{ id: string }>();
	expect(await (await ask('ann', `/${id}`)).json()).toMatchObject({ user: 'kim' });
	const copy = await readDocument('ann', id);
	expect(copy.session).toMatchObject({ owner: 'importers', user: 'kim' });
	const said = copy.messages.filter(({ role }) => role === 'user');
	expect(said).toHaveLength(2);
	for (const { sender, transport, stored } of said) {
		expect({ sender, transport }).toEqual({ sender: 'kim', transport: 'import' });
		const { by, askers } = Object(stored).inbound;
		expect([by, askers]).toEqual([actorOf('ann', { id: expect.any(String) }), undefined]);
	}
	expect(JSON.stringify(copy)).not.toMatch(/boss|"ada"|sealed/);
	expect(await readAskers(id)).toEqual([actorOf('ann')]);
	// Without the name of a user, the copy is a session of the importer.
	const own = await (await ask('ann', '/import', document)).json<{ user: string }>();
	expect(own.user).toBe('ann');
});

test('sends provider metadata to its provider after a fork, but never after an import', async () => {
	const { ask, readDocument, createFailed } = await createPeople();
	const first = await createFailed();
	const readSent = async (id: string) => {
		const { requests } = play('Two it is.');
		await (await ask('ann', `/${id}/continue`, '')).json();
		return JSON.stringify(requests[0]?.messages);
	};
	const copy = async (path: string, body: unknown) => (await (await ask('ann', path, body)).json<{ id: string }>()).id;
	expect(await readSent(await copy(`/${first}/fork`, {}))).toContain('sealed');
	const imported = await copy('/import', await readDocument('ada', first));
	expect(await readSent(imported)).toContain('One it is.');
	expect(await readSent(await copy('/import', await readDocument('ada', first)))).not.toContain('sealed');
});

test('a fork has the askers of the original, and the person who made the fork becomes an asker', async () => {
	const { ask, readDocument, readAskers, createFailed } = await createPeople();
	const first = await createFailed();
	// The server speaks for the user of the session.
	const before = [actorOf('ada', { madeBy: { owner: 'importers', via: 'key', id: expect.any(String) } })];
	expect(await readAskers(first)).toEqual(before);
	const failed = await createFailed();
	const forked = await ask('bob', `/${failed}/fork`, {});
	expect(forked.status).toBe(201);
	const { id, user } = await forked.json<{ id: string; user: string }>();
	expect(user).toBe('ada');
	const again = await (await ask('ann', `/${id}/fork`, {})).json<{ id: string }>();
	expect(await readAskers(id)).toEqual([...before, actorOf('bob')]);
	const [one] = (await readDocument('bob', id)).messages;
	expect(one).toMatchObject({ sender: 'ada', transport: 'http' });
	// The fork of the fork has all three askers.
	expect(await readAskers(again.id)).toEqual([...before, actorOf('bob'), actorOf('ann')]);
});

test('a fork by a person who cannot raise budgets has at most the budget of the agent', async () => {
	const { ask } = await createPeople();
	const budget = { tokens: 5_000 };
	const made = await ask('ann', '', { agent: 'thrifty', budget });
	const { id } = await made.json<{ id: string }>();
	const readLimit = async (name: 'ada' | 'ann') => {
		const { budget: own } = await (await ask(name, `/${id}/fork`, {})).json<{ budget: { limit: object } }>();
		return own.limit;
	};
	expect(await readLimit('ada')).toEqual({ tokens: 1_000 });
	expect(await readLimit('ann')).toEqual(budget);
});

test('copies the title, the metadata, the model, the budget and the lifetime, or uses the defaults', async () => {
	const own = { metadata: { user: 'u1' }, model: 'demo', budget: { tokens: 70_000 }, expiresAfterMs: 7_200_000 };
	const made = await request('/v1/sessions', { agent: 'scripted', ...own });
	const { id } = await made.json<{ id: string }>();
	expect(made.status).toBe(201);
	const show = async (one: string) => {
		const [line] = await readLines(one);
		const { id: _, createdAt, updatedAt, ...rest } = line?.session ?? {};
		return rest;
	};
	const first = await show(id);
	expect(first).toMatchObject({ ...own, budget: { limit: own.budget } });
	expect(await show(await readId(await fork(id)))).toEqual(first);
	const imported = { ...first, stored: { createdBy: expect.anything(), isImported: true } };
	expect(await show(await readId(await importLines(await readLines(id))))).toEqual(imported);
	const [usual] = await readRecords(await readId(await fork(await createFull())), 'session');
	expect(usual).toMatchObject({ title: 'One', budget: { limit: {} } });
});

test('replaced messages stay replaced in a copy, and are not sent to a model', async () => {
	const post = (text: string) =>
		request('/v1/ui/scripted', {
			id: 'copied',
			messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }],
			trigger: 'submit-message',
		});
	play('one', 'two');
	const first = await post('First');
	await first.text();
	await (await post('Other')).text();
	const id = first.headers.get('runlet-session') ?? '';
	const history = await readHistory(id);
	expect(history).toMatchObject([
		...[
			{ content: 'First', isReplaced: true },
			{ content: 'one', isReplaced: true },
		],
		...[{ content: 'Other' }, { content: 'two' }],
	]);
	const older = await readId(await fork(id, { at: history[1]?.id }));
	expect((await readHistory(older)).map(({ content, isReplaced }) => [content, isReplaced])).toEqual([
		['First', undefined],
		['one', undefined],
	]);
	const copy = await readId(await fork(id));
	expect(await readHistory(copy)).toEqual(history);
	await restart(copy);
	const { requests } = play('three');
	await allEvents(await send(copy, 'Second'));
	expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['Other', 'two', 'Second']);
});

test('imports a single JSON document as well as lines', async () => {
	const id = await createFull();
	const document = await (await request(`/v1/sessions/${id}/export`)).text();
	const copy = await readId(await importText(document, { 'content-type': 'application/json' }));
	expect(await readHistory(copy)).toEqual((await readHistory(id)).map(fromOutside));
});

test('an imported session continues with its history, also after a restart', async () => {
	const id = await createFull();
	const copy = await readId(await importLines(await readLines(id)));
	await restart(copy);
	const { requests } = play('Three.');
	expect(readText(await allEvents(await send(copy, 'And three?')))).toBe('Three.');
	expect(requests[0]?.messages.map(({ role }) => role)).toEqual([
		...['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user'],
	]);
	expect((await readState(copy)).status).toBe('completed');
	expect((await readState(copy)).budget.spent.tokens).toBeGreaterThan(0);
});

test('copies the history, the files and the state, and the copy is independent of the original', async () => {
	const id = await createFull();
	play({ toolCalls: [call('r', 'remember', { key: 'n' })] }, 'Three.');
	await allEvents(await send(id, 'Three'));
	const copy = await readId(await fork(id));
	expect((await readHistory(copy)).map(plain)).toEqual((await readHistory(id)).map(plain));
	play({ toolCalls: [call('r', 'remember', { key: 'n' })] }, 'Here.');
	await allEvents(await send(copy, 'Go on'));
	expect((await readHistory(id)).at(-1)?.content).toBe('Three.');
	expect((await readHistory(copy)).slice(-2).map(({ content }) => content)).toEqual([2, 'Here.']);
	expect(await readRecords(copy, 'state')).toEqual([{ key: 'n', value: 2 }]);
	expect(await readRecords(id, 'state')).toEqual([{ key: 'n', value: 1 }]);
	await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
	expect(await readFile(copy, 'notes/plan.md')).toBe(toHex(new TextEncoder().encode('# Plan').buffer));
});

test('a fork at a message has the history up to this message, with the results of its calls', async () => {
	const id = await createFull();
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: { id: string }[] }>();
	const at = (place: number) => fork(id, { at: messages[place]?.id });
	const roles = async (response: Response) => (await readHistory(await readId(response))).map(({ role }) => role);
	expect(await roles(await at(0))).toEqual(['user']);
	expect(await roles(await at(1))).toEqual(['user', 'assistant', 'tool']);
	expect(await roles(await at(2))).toEqual(['user', 'assistant', 'tool']);
	expect(await roles(await at(3))).toEqual(['user', 'assistant', 'tool', 'assistant']);
	const copy = await readId(await at(1));
	expect(await readState(copy)).toMatchObject({ status: 'idle', run: { status: 'cancelled' } });
	const { requests } = play('Anew.');
	expect(readText(await allEvents(await send(copy, 'Else?')))).toBe('Anew.');
	expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
});

test('refuses a fork at an unknown message or an invalid id', async () => {
	const id = await createFull();
	expect(await readError(await fork(id, { at: '7' }))).toMatchObject({ status: 400, code: 'invalid_request' });
	expect((await readError(await fork(id, { at: 'x' }))).message).toMatch(/^at: /);
});

test('a waiting call counts as not run in a fork, and stays open in the original', async () => {
	const id = await createSession();
	play({ toolCalls: [call('q', 'ask', { question: 'When?' })] });
	await allEvents(await send(id, 'Ask'));
	const copy = await readId(await fork(id));
	expect(await readState(copy)).toMatchObject({ status: 'idle', run: { status: 'cancelled' } });
	expect((await request(`/v1/sessions/${copy}/answer`, { text: 'Now' })).status).toBe(409);
	const { requests } = play('Well.', 'Now it is.');
	await allEvents(await send(copy, 'Never mind'));
	expect(requests[0]?.messages.at(-2)).toMatchObject({ role: 'tool', toolCallId: 'q', isError: true });
	expect((await request(`/v1/sessions/${id}/answer`, { text: 'Now' })).status).toBe(200);
});

test('a fork or an import that is repeated with its key creates one session', async () => {
	const id = await createFull();
	const headers = { 'idempotency-key': `fork-${id}` };
	const first = await readId(await fork(id, {}, headers));
	expect(await readId(await fork(id, {}, headers))).toBe(first);
	const lines = await readLines(id);
	const once = { 'idempotency-key': `import-${id}` };
	expect(await readId(await importLines(lines, once))).toBe(await readId(await importLines(lines, once)));
	expect((await readError(await fork(id, { at: '65536' }, headers))).status).toBe(409);
});

test.each([
	['that is cut off', (lines: Line[]) => lines.slice(0, -1), 'body: the last line is missing'],
	['without a record', (lines: Line[]) => lines.toSpliced(-2, 1), 'end: it counts'],
	['with a second session', ([one, ...rest]: Line[]) => [one, one, ...rest], 'line 2: session: a second one'],
	['without its session', (lines: Line[]) => lines.slice(1), 'line 1: the first line of an export is its session'],
	['with a record of an unknown kind', ([one]: Line[]) => [one, { song: {} }], 'line 2: no record of an export'],
	[
		'of a later version',
		([one]: Line[]) => [{ session: { ...one?.session, version: 2 } }],
		'line 1: session.version: ',
	],
	['of an unknown agent', ([one]: Line[]) => [{ session: { ...one?.session, agent: 'nobody' } }], 'nobody'],
	['with messages in reverse order', (lines: Line[]) => reverseMessages(lines), 'message: stands behind'],
	['with a missing piece of a file', (lines: Line[]) => dropPiece(lines), 'pieces of a file'],
	['with a line after its last line', (lines: Line[]) => [...lines, lines.at(-1)], 'stands behind the last line'],
])('refuses an export %s, names the line, and leaves nothing behind', async (_, change, says) => {
	const lines = await readLines(await createFull());
	const headers = { 'idempotency-key': crypto.randomUUID() };
	const refused = await readError(await importLines(change(lines), headers));
	expect(refused.message).toContain(says);
	expect(refused.status).toBeGreaterThanOrEqual(400);
	expect(refused.status).toBeLessThan(500);
	// Nothing of the refused import prevents the complete import.
	const copy = await readId(await importLines(lines, headers));
	expect(await readHistory(copy)).toHaveLength(6);
});

function reverseMessages(lines: readonly Line[]): Line[] {
	const messages = lines.filter((line) => 'message' in line).reverse();
	return lines.map((line) => ('message' in line ? (messages.shift() ?? line) : line));
}

function dropPiece(lines: readonly Line[]): Line[] {
	const second = lines.findIndex(({ file }) => file !== undefined && Number(file.at) > 0);
	return lines.toSpliced(second, 1);
}

test('refuses a document over 32 MiB and a line over 32 million characters, with the remedy', async () => {
	const document = await readError(await importText('['.padEnd(33_554_433), { 'content-type': 'application/json' }));
	expect(document).toMatchObject({ status: 413, code: 'too_large', message: expect.stringContaining('33554432') });
	const line = await readError(await importText('['.padEnd(33_554_500)));
	expect(line).toMatchObject({ status: 413, code: 'too_large', message: expect.stringMatching(/^body: a line/) });
});

test('the lifetime of an imported session begins with the import, however old its runs are', async () => {
	const id = await createSession('fleeting');
	play('Long ago.');
	await allEvents(await send(id, 'Go'));
	const old = (await readLines(id)).map((line) =>
		line.run === undefined ? line : { run: { ...line.run, createdAt: longAgo, endedAt: longAgo } },
	);
	const copy = await readId(await importLines(old));
	await runDurableObjectAlarm(readObject(copy));
	expect((await readState(copy)).status).toBe('completed');
	const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: { id: string }[] }>();
	expect(sessions.map((one) => one.id)).toContain(copy);
});

const longAgo = '2020-01-01T00:00:00.000Z';

test('hides a session during its import, and removes it after a crash', async () => {
	const id = await createSession();
	await runInDurableObject(readObject(id), async (_, ctx) => {
		const store = new SessionStore(ctx.storage);
		const session = store.session();
		await ctx.storage.deleteAll();
		const fresh = new SessionStore(ctx.storage);
		fresh.create(session, { isImporting: true });
		fresh.messages.add(0, { role: 'user', content: 'Half' }, 1);
		await ctx.storage.setAlarm(Date.now() + 60_000);
	});
	await restart(id);
	expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
	const next = readObject(id);
	await runDurableObjectAlarm(next);
	await runInDurableObject(next, (_, { storage }) => {
		const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'message'").toArray();
		expect(tables).toEqual([]);
	});
});

test('an alarm during an import does not remove the session', async () => {
	const lines = await readLines(await createFull());
	const id = env.SESSIONS.newUniqueId();
	const { readable, writable } = new IdentityTransformStream();
	const writer = writable.getWriter();
	const write = (part: readonly Line[]) =>
		writer.write(new TextEncoder().encode(part.map((line) => `${JSON.stringify(line)}\n`).join('')));
	const imported = env.SESSIONS.get(id).import({ owner: 'local' }, readable);
	// The lines are stored with the last piece of a file.
	const stored = lines.findLastIndex(({ file }) => file?.path === 'big.bin') + 1;
	await write(lines.slice(0, stored));
	// The object reads the second part only after it stored the first.
	await write(lines.slice(stored, stored + 1));
	await runDurableObjectAlarm(readObject(id.toString()));
	expect(await runInDurableObject(readObject(id.toString()), (_, { storage }) => storage.getAlarm())).not.toBeNull();
	expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
	await write(lines.slice(stored + 1));
	await writer.close();
	expect(await imported).toMatchObject({ ok: true });
	expect(await readHistory(id.toString())).toHaveLength(6);
});

test.each([2, 3, 5])('%i simultaneous forks or imports under one key create one copy', async (count) => {
	const id = await createFull();
	const lines = await (
		await request(`/v1/sessions/${id}/export`, undefined, { accept: 'application/x-ndjson' })
	).text();
	const fork = (key: string) => request(`/v1/sessions/${id}/fork`, {}, { 'idempotency-key': key });
	const bring = (key: string) =>
		SELF.fetch('http://localhost/v1/sessions/import', {
			method: 'POST',
			headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': key },
			body: lines,
		});
	for (const copy of [fork, bring]) {
		const key = crypto.randomUUID();
		const answers = await Promise.all(Array.from({ length: count }, () => copy(key)));
		const said = await Promise.all(answers.map((one) => one.json<{ id: string }>()));
		expect(answers.map(({ status }) => status)).toEqual(Array(count).fill(201));
		expect(new Set(said.map((one) => one.id)).size).toBe(1);
		expect((await readHistory(said[0]?.id ?? '')).length).toBe((await readHistory(id)).length);
	}
});
