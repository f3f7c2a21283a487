import { waitingCursor } from '../../wire/page.ts';
import type { Sql } from '../migrate.ts';
import { createNoSuchCursor } from './api.ts';
import { nameIndex } from './schema.ts';
import {
	createWaitingCursor,
	type Wait,
	type WaitedCall,
	type WaitingEntry,
	type WaitingPage,
	type WaitingQuery,
	type WaitKind,
	waitKinds,
} from './wait.ts';

/** The calls that wait for somebody. Each has a row. */
export class WaitRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Writes only rows that change. */
	set({ id, agent, user }: Waiter, wait: Wait | null): void {
		type Row = { place: number; kind: string; since: number; call: string };
		const query = 'SELECT place, kind, since, call FROM waiting WHERE session = ?';
		const before = this.#sql.exec<Row>(query, id).toArray();
		const { since = 0, calls = [] } = wait ?? {};
		const after = calls.map((call): Row => ({ place: call.place, kind: call.kind, since, call: JSON.stringify(call) }));
		const isIn = (rows: readonly Row[], { place, kind, since, call }: Row) =>
			rows.some((row) => row.place === place && row.kind === kind && row.since === since && row.call === call);
		for (const row of before) {
			if (isIn(after, row)) continue;
			this.#sql.exec('DELETE FROM waiting WHERE session = ? AND place = ? AND kind = ?', id, row.place, row.kind);
		}
		for (const row of after) {
			if (isIn(before, row)) continue;
			this.#sql.exec(
				'INSERT OR REPLACE INTO waiting (session, place, kind, since, agent, user, call) VALUES (?, ?, ?, ?, ?, ?, ?)',
				...[id, row.place, row.kind, row.since, agent, user, row.call],
			);
		}
	}

	list({ cursor, limit, kind, agent, user }: WaitingQuery): WaitingPage {
		type Row = Record<'session' | 'agent' | 'call', string> &
			Record<'owner' | 'user' | 'title', string | null> & { since: number };
		const range = (one: WaitKind) => `SELECT * FROM waiting INDEXED BY ${nameIndex('waiting', { agent, user })}
			WHERE kind = '${one}' ${agent === undefined ? '' : 'AND agent = ?1'} ${user === undefined ? '' : 'AND user = ?2'}
				AND (since, session, place) > (?3, ?4, ?5)`;
		const ranges = kind === undefined ? waitKinds.map(range) : [range(kind)];
		const rows = this.#sql.exec<Row>(
			`SELECT session, since, session.owner, found.agent, found.user, title, call
			FROM (${ranges.join(' UNION ALL ')} ORDER BY since, session, place LIMIT ?6) AS found
				LEFT JOIN session ON session.id = found.session
			ORDER BY since, session, place`,
			...[agent ?? null, user ?? null, ...parseCursor(cursor), limit + 1],
		);
		const found = rows.toArray().map(({ owner, title, user, call, ...row }): WaitingEntry => {
			const waited: WaitedCall = JSON.parse(call);
			const whose = { ...(owner !== null && { owner }), ...(user !== null && { user }) };
			return { ...row, ...whose, ...(title !== null && { title }), ...waited };
		});
		const entries = found.slice(0, limit);
		const last = entries.at(-1);
		if (found.length <= limit || last === undefined) return { entries };
		return { entries, cursor: createWaitingCursor(last) };
	}
}

interface Waiter {
	readonly id: string;
	readonly agent: string;
	readonly user: string | null;
}

function parseCursor(text: string | undefined): readonly [since: number, session: string, place: number] {
	if (text === undefined) return [-1, '', -1];
	const [, since, session, place] = waitingCursor.exec(text) ?? [];
	if (session === undefined) throw createNoSuchCursor();
	return [Number(since), session, Number(place)];
}
