import { env, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { idle, removed, waits } from '../../../../src/cloudflare/objects/directory/schema.ts';
import { DirectoryStore } from '../../../../src/cloudflare/objects/directory/store.ts';
import { type WaitKind, waitKinds } from '../../../../src/cloudflare/objects/directory/wait.ts';
import { counted } from '../../../rows.ts';

/** With 1_000_000 sessions the test takes 17 s and reads the same number of rows. */
const sessions = 10_000;

const agents = [undefined, 'assistant', 'rare', 'unknown'];
const users = [undefined, null, 'ada', 'rare', 'unknown'];

/** Stores sessions of one hour, ten at each time, with frequent and rare agents and users. */
function fill(sql: SqlStorage, rows: number): void {
	const agent = "CASE WHEN n % 1000 = 7 THEN 'rare' ELSE 'assistant' END";
	const user = "CASE WHEN n % 1000 = 3 THEN 'rare' WHEN n % 2 = 0 THEN 'ada' END";
	const each = `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${rows})`;
	sql.exec(
		`${each} INSERT INTO session (id, agent, created_at, active_at, state, user)
		SELECT printf('s%09d', n), ${agent}, 1, n / 10,
			CASE WHEN n % 5 = 1 THEN ${removed} WHEN n % 5 = 2 THEN ${waits} ELSE ${idle} END, ${user}
		FROM number`,
	);
	sql.exec(
		`${each} INSERT INTO waiting (session, place, kind, since, agent, user, call)
		SELECT printf('s%09d', n), 0, CASE n % 3 WHEN 0 THEN 'approval' WHEN 1 THEN 'question' ELSE 'result' END, n / 10,
			${agent}, ${user}, '{"callId":"c","place":0}'
		FROM number`,
	);
}

test(`a page of 50 entries reads at most 200 rows in a list of ${sessions} sessions or waiting calls`, async () => {
	await runInDurableObject(env.DIRECTORIES.get(env.DIRECTORIES.newUniqueId()), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new DirectoryStore(counting);
		fill(storage.sql, sessions);
		rows();
		const read = new Map<string, number>();
		/** Reads the first page, the next page, and a late page that begins between equal times. */
		const readPages = (about: object, far: string, list: (cursor?: string) => { readonly cursor?: string }) => {
			const { cursor } = list();
			for (const at of [undefined, cursor, far]) {
				rows();
				list(at);
				read.set(JSON.stringify({ ...about, at }), rows().read);
			}
		};
		for (const agent of agents)
			for (const user of users) {
				for (const isWaiting of [undefined, true]) {
					const query = { agent, user, isWaiting, limit: 50 };
					readPages(query, `${sessions / 20}.s${String(sessions / 2 + 5).padStart(9, '0')}`, (cursor) =>
						store.list({ ...query, cursor }),
					);
				}
				if (user === null) continue;
				for (const kind of [undefined, ...waitKinds] satisfies (WaitKind | undefined)[]) {
					const query = { agent, user, kind, limit: 50 };
					readPages(query, `${sessions / 20}.s${String(sessions / 2 + 5).padStart(9, '0')}.0`, (cursor) =>
						store.listWaiting({ ...query, cursor }),
					);
				}
			}
		const most = [...read].sort(([, a], [, b]) => b - a)[0];
		console.log(
			`the most rows that a page of 50 of ${sessions} read: ${most?.[1]}, of ${read.size} lists: ${most?.[0]}`,
		);
		expect([...read].filter(([, count]) => count > 200)).toEqual([]);
		expect(store.list({ limit: 50 }).sessions).toHaveLength(50);
		expect(store.listWaiting({ limit: 50 }).entries).toHaveLength(50);
		const asked = store.list({ limit: 96, isWaiting: true, user: 'ada' });
		expect(asked.sessions).toHaveLength(96);
		rows();
		store.list({ limit: 96 });
		console.log(`a page of 96: ${rows().read}`);
	});
});
