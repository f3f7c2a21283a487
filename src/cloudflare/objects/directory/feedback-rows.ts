import { waitingCursor } from '../../wire/page.ts';
import type { Sql } from '../migrate.ts';
import { createNoSuchCursor } from './api.ts';
import {
	createFeedbackCursor,
	type FeedbackChange,
	type FeedbackEntry,
	type FeedbackPage,
	type FeedbackQuery,
	type FeedbackRating,
	ratings,
} from './feedback.ts';
import { nameIndex } from './schema.ts';

/** What people said about runs. Each run has at most one row. */
export class FeedbackRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	put({ session, run, runId, at, owner, agent, user, rating: given }: FeedbackChange): void {
		this.#sql.exec('DELETE FROM feedback WHERE session = ? AND run = ? AND at <= ?', session, run, at);
		if (given === undefined) return;
		const { rating, note } = given;
		this.#sql.exec(
			`INSERT OR IGNORE INTO feedback (session, run, run_id, rating, at, agent, user, note, owner)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			...[session, run, runId, rating, at, agent, user ?? null, note ?? null, owner ?? null],
		);
	}

	removeSession(id: string): void {
		this.#sql.exec('DELETE FROM feedback WHERE session = ?', id);
	}

	list({ cursor, limit, rating, agent, user }: FeedbackQuery): FeedbackPage {
		const range = (one: FeedbackRating) => `SELECT * FROM feedback INDEXED BY ${nameIndex('feedback', { agent, user })}
			WHERE rating = '${one}' ${agent === undefined ? '' : 'AND agent = ?1'} ${user === undefined ? '' : 'AND user = ?2'}
				AND (at, session, run) < (?3, ?4, ?5)`;
		const ranges = rating === undefined ? ratings.map(range) : [range(rating)];
		const rows = this.#sql.exec<Row>(
			`SELECT found.session, found.run, run_id, rating, at, found.owner, found.agent, found.user, title, note
			FROM (${ranges.join(' UNION ALL ')} ORDER BY at DESC, session DESC, run DESC LIMIT ?6) AS found
				LEFT JOIN session ON session.id = found.session
			ORDER BY at DESC, found.session DESC, run DESC`,
			...[agent ?? null, user ?? null, ...parseCursor(cursor), limit + 1],
		);
		const found = rows.toArray().map(toEntry);
		const entries = found.slice(0, limit);
		const last = entries.at(-1);
		if (found.length <= limit || last === undefined) return { entries };
		return { entries, cursor: createFeedbackCursor(last) };
	}
}

type Row = Record<'session' | 'run_id' | 'agent', string> &
	Record<'owner' | 'user' | 'title' | 'note', string | null> &
	Record<'run' | 'at', number> & { rating: FeedbackRating };

function toEntry({ run_id: runId, owner, user, title, note, ...row }: Row): FeedbackEntry {
	return {
		...row,
		runId,
		...(owner !== null && { owner }),
		...(user !== null && { user }),
		...(title !== null && { title }),
		...(note !== null && { note }),
	};
}

function parseCursor(text: string | undefined): readonly [at: number, session: string, run: number] {
	if (text === undefined) return [Number.MAX_SAFE_INTEGER, '', 0];
	const [, at, session, run] = waitingCursor.exec(text) ?? [];
	if (session === undefined) throw createNoSuchCursor();
	return [Number(at), session, Number(run)];
}
