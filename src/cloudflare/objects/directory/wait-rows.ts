import { waitingCursor } from '../../wire/page.ts';
import type { Sql } from '../migrate.ts';
import { createNoSuchCursor } from './api.ts';
import {
	createWaitingCursor,
	type Wait,
	type WaitedCall,
	type WaitingEntry,
	type WaitingPage,
	type WaitingQuery,
} from './wait.ts';

/** The sessions of an owner that wait for somebody, a row each. */
export class WaitRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores what a session waits for. Writes nothing where that is stored already. */
	set(session: string, agent: string, wait: Wait | null): void {
		type Row = { since: number; calls: string };
		const [row] = this.#sql.exec<Row>('SELECT since, calls FROM wait WHERE session = ?', session).toArray();
		if (wait === null) {
			if (row !== undefined) this.#sql.exec('DELETE FROM wait WHERE session = ?', session);
			return;
		}
		const calls = JSON.stringify(wait.calls);
		if (row?.since === wait.since && row.calls === calls) return;
		this.#sql.exec(
			'INSERT OR REPLACE INTO wait (session, since, agent, calls) VALUES (?, ?, ?, ?)',
			...[session, wait.since, agent, calls],
		);
	}

	/** An index of `since` would cost two rows for each wait, and spare a list only the reading of other rows. */
	list({ cursor, limit, kind, agent, user }: WaitingQuery): WaitingPage {
		type Row = Record<'session' | 'agent' | 'call', string> &
			Record<'user' | 'title', string | null> & { since: number };
		const rows = this.#sql.exec<Row>(
			`SELECT wait.session, since, wait.agent, user, title, value AS call
			FROM wait JOIN json_each(calls) LEFT JOIN session ON session.id = wait.session
			WHERE (since, wait.session, value ->> 'place') > (?, ?, ?)
				AND wait.agent = ifnull(?, wait.agent) AND value ->> 'kind' = ifnull(?, value ->> 'kind')
				${user === undefined ? '' : 'AND user = ?'}
			ORDER BY since, wait.session, value ->> 'place' LIMIT ?`,
			...[...parseCursor(cursor), agent ?? null, kind ?? null, ...(user === undefined ? [] : [user]), limit + 1],
		);
		const found = rows.toArray().map(({ title, user, call, ...row }): WaitingEntry => {
			const waited: WaitedCall = JSON.parse(call);
			return { ...row, ...(user !== null && { user }), ...(title !== null && { title }), ...waited };
		});
		const entries = found.slice(0, limit);
		const last = entries.at(-1);
		if (found.length <= limit || last === undefined) return { entries };
		return { entries, cursor: createWaitingCursor(last) };
	}
}

/** Reads the cursor that stands behind a call. Throws `invalid_request` if the text is none. */
function parseCursor(text: string | undefined): readonly [since: number, session: string, place: number] {
	if (text === undefined) return [-1, '', -1];
	const [, since, session, place] = waitingCursor.exec(text) ?? [];
	if (session === undefined) throw createNoSuchCursor();
	return [Number(since), session, Number(place)];
}
