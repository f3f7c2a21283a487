/** No statement of a session, a directory or a ledger scans a table that grows, except those that are listed with a reason. */
import { env, runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { contents, schema as directory } from '../../../src/cloudflare/objects/directory/schema.ts';
import { schema as ledger } from '../../../src/cloudflare/objects/ledger/schema.ts';
import { migrate } from '../../../src/cloudflare/objects/migrate.ts';
import { schema as session } from '../../../src/cloudflare/session/store/schema.ts';
import { allEvents, createSession, readObject, request, restart, send } from '../../client.ts';
import { watchStatements } from '../../rows.ts';
import { play } from '../../script.ts';

const namespaces = { session: env.SESSIONS, directory: env.DIRECTORIES, ledger: env.LEDGERS };
type Kind = keyof typeof namespaces;

/** The tables with one row for each object, and those of SQLite and of the migrations. */
const small: Readonly<Record<Kind, RegExp>> = {
	session: /^(session|workspace|schema_version|sqlite_master|sqlite_schema)$/,
	directory: /^(schema_version|sqlite_master|sqlite_schema)$/,
	ledger: /^(watched|schema_version|sqlite_master|sqlite_schema)$/,
};

/** The statements that may scan, by their beginnings, with the reason. */
const excuses: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
	session: {
		'SELECT * FROM token': 'an ended token is removed with the next new one',
		'DELETE FROM token': 'an ended token is removed with the next new one',
		'SELECT COUNT(DISTINCT id)': 'the waiting messages, which a run takes; kept in memory',
		'SELECT COALESCE(SUM(size), 0)': 'the large files, of which a session has a limited number; kept in memory',
		'SELECT 1 FROM content WHERE bucket_key IS NOT NULL': 'ends after one row of the index of large files',
		'SELECT (a.total_tokens': 'from the newest request on, through those of one run',
		'SELECT * FROM child': 'for the list of children, and when the session is removed',
		'SELECT call FROM call WHERE asked = 1': 'the index has only the calls that wait',
		'SELECT COALESCE(MIN(change)': 'the newest 1,000 changes of files, once for some labels',
		'SELECT key FROM state': 'an export lists the keys',
		'SELECT DISTINCT key FROM note': 'an export lists the keys',
		'SELECT * FROM run WHERE id = ?': 'from the newest run on; an index would cost a row for each run',
		'SELECT id, body, failed FROM outbox': 'the messages to other objects, which are removed when they have arrived',
		'DELETE FROM outbox': 'the messages to other objects, which are removed when they have arrived',
	},
	directory: {
		'SELECT COALESCE(SUM(bytes), 0)': 'once in the life of an instance, which keeps the sum',
	},
	ledger: {
		'SELECT * FROM day': 'the days with open leases, at most three',
		'SELECT * FROM part WHERE user = ?': 'when a person is erased',
		'DELETE FROM part WHERE user = ?': 'when a person is erased',
	},
};

const call = (name: string, input: object, id: string) => ({ toolCalls: [{ id, name, input }] });

/** Uses a session, and its owner's lists and budgets, in many ways. */
async function tour(): Promise<void> {
	const id = await createSession();
	const at = (path: string) => `/v1/sessions/${id}${path}`;
	const say = (text: string, more: object = {}, headers = {}) => request(at('/messages'), { text, ...more }, headers);
	play(call('write_file', { path: 'notes/a.txt', content: 'One.' }, 'w'), 'Written.');
	await say('Write.', {}, { 'idempotency-key': 'plans' });
	play(call('long', { characters: 300_000 }, 'l'), call('remember', { key: 'n' }, 'r'), 'Long.');
	const { runId } = await (await say('Long.')).json<{ runId: string }>();
	play(call('pay', { amount: 1 }, 'p'));
	await say('Pay.');
	await request('/v1/approvals');
	await request('/v1/approvals?agent=scripted');
	await request('/v1/approvals?user=ann');
	play('Paid.');
	await request(at('/tool-results'), [{ id: 'p', approve: true }]);
	play(call('ask', { question: 'When?' }, 'q'));
	await allEvents(await send(id, 'Ask.'));
	play('Now.');
	await request(at('/answer'), { text: 'Now.' });
	play(new Error('It broke.'));
	await say('Fail.');
	play('Again.');
	await request(at('/continue'), {});
	await restart(id);
	for (const path of ['', '/messages?order=desc&limit=2', '/tasks', '/waiting', '/files', '/files/notes/a.txt', '/ui'])
		await request(at(path));
	for (const path of ['/changes', '/trace', `/trace?run=${runId}`, '/export', '/events'])
		await (await request(at(path))).text();
	await request(at(''), { title: 'Plans.' }, {}, 'PATCH');
	await request(at('/files/b.txt'), { b: 1 }, {}, 'PUT');
	await request(at('/files/b.txt'), undefined, {}, 'DELETE');
	await request(at(`/runs/${runId}/feedback`), { rating: 'up' }, {}, 'PUT');
	for (const query of ['', '?rating=down', '?agent=scripted', '?user=ann']) await request(`/v1/feedback${query}`);
	const { tokenId } = await (await request(at('/token'), {})).json<{ tokenId: string }>();
	await request(at(`/tokens/${tokenId}`), undefined, {}, 'DELETE');
	await request(at('/fork'), {}, { 'idempotency-key': `plans-${id}` });
	const headers = { accept: 'application/x-ndjson' };
	const lines = await (await request(at('/export'), undefined, headers)).text();
	const body = { method: 'POST', body: lines, headers: { 'content-type': 'application/x-ndjson' } };
	await SELF.fetch('http://localhost/v1/sessions/import?user=ann', body);
	const said = await createSession('searchable');
	play('Plans are found.');
	await allEvents(await send(said, 'Find plans.'));
	const find = async () =>
		(await (await request('/v1/sessions?q=plans+found')).json<{ sessions: object[] }>()).sessions;
	await expect.poll(find).not.toEqual([]);
	await request(`/v1/sessions/${said}`, undefined, {}, 'DELETE');
	for (const filter of ['', 'agent=scripted', 'user=ann', 'agent=scripted&user=ann', 'status=completed', 'q=Plans'])
		await request(`/v1/sessions?${filter}`);
	await request('/v1/usage');
	await request('/v1/users/ann');
	await request('/v1/users/ann/budget', { daily: { tokens: 1_000_000 } }, {}, 'PUT');
	await request('/v1/users/ann/budget');
	await runDurableObjectAlarm(readObject(id));
	await request('/v1/users/ann', undefined, {}, 'DELETE');
	await request(at(''), undefined, {}, 'DELETE');
	await runDurableObjectAlarm(readObject(id));
}

function findKind(object: string): Kind | undefined {
	for (const kind of ['session', 'directory', 'ledger'] as const) {
		try {
			namespaces[kind].idFromString(object);
			return kind;
		} catch {}
	}
	return undefined;
}

/** The beginning of a statement about tables that were not made yet (`makeTables`). */
const missing = /^WITH (?:\w+ AS \(SELECT [^()]* WHERE FALSE\),? )+/;

const schemas = { session, directory, ledger };

/** Lists the steps in the plan of each statement, in an object with all tables. */
function explain(kind: Kind, statements: readonly string[]): Promise<readonly (readonly string[])[]> {
	const namespace = namespaces[kind];
	return runInDurableObject(namespace.get(namespace.newUniqueId()), (_, { storage }) => {
		storage.transactionSync(() => migrate(storage.sql, schemas[kind]));
		if (kind === 'directory') storage.sql.exec(contents);
		return statements.map((statement) => {
			const numbers = [...statement.matchAll(/\?(\d*)/g)].map(([, number = ''], at) => Number(number) || at + 1);
			const values = Array<null>(Math.max(0, ...numbers)).fill(null);
			const plan = storage.sql.exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement}`, ...values);
			return plan.toArray().map(({ detail }) => detail);
		});
	});
}

/** Lists the scans that read more rows the more rows there are. */
function listScans(kind: Kind, statement: string, plan: readonly string[]): readonly string[] {
	// A statement with a limit, and without a condition or a sort, ends after its first rows.
	const isShort = /^SELECT [^()]* LIMIT 1$/.test(statement) && !/ WHERE /.test(statement);
	const isSorted = plan.some((step) => step.startsWith('USE TEMP B-TREE'));
	if (isShort && !isSorted) return [];
	const subqueries = [...statement.matchAll(/\) AS (\w+)/g)].map(([, name]) => name);
	return plan.filter((step) => {
		// A virtual table names the conditions that it looks up after a colon.
		if (/ VIRTUAL TABLE INDEX \d+:\S/.test(step)) return false;
		const [, name = ''] = /^SCAN (\w+)/.exec(step) ?? [];
		return step.startsWith('SCAN ') && name !== 'CONSTANT' && !small[kind].test(name) && !subqueries.includes(name);
	});
}

test('no statement of a session, a directory or a ledger scans a table that grows', async () => {
	const readStatements = watchStatements();
	await tour();
	const found = new Map<Kind, Set<string>>();
	for (const { object, what } of readStatements()) {
		const kind = findKind(object);
		const statement = what.replace(/\s+/g, ' ').trim().replace(missing, '');
		if (kind !== undefined && /^(SELECT|UPDATE|DELETE|INSERT|WITH)/.test(statement))
			found.set(kind, (found.get(kind) ?? new Set()).add(statement));
	}
	const scans: string[] = [];
	const excused = new Set<string>();
	for (const [kind, statements] of found) {
		const plans = await explain(kind, [...statements]);
		for (const [at, statement] of [...statements].entries()) {
			const excuse = Object.keys(excuses[kind]).find((beginning) => statement.startsWith(beginning));
			const scanned = listScans(kind, statement, plans[at] ?? []);
			if (scanned.length === 0) continue;
			if (excuse === undefined) scans.push(`${kind}: ${scanned.join(', ')} in ${statement}`);
			else excused.add(excuse);
		}
	}
	expect(scans).toEqual([]);
	// The tour is busy, and no excuse is left over.
	expect([...found.values()].reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(120);
	expect(
		Object.values(excuses)
			.flatMap(Object.keys)
			.filter((one) => !excused.has(one)),
	).toEqual([]);
});
