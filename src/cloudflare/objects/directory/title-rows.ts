import { hashText } from '../../../core/base/bytes.ts';
import type { Sql } from '../migrate.ts';
import { joinWords, splitWords, toIndexedText } from '../words.ts';
import { createCursor, type DirectoryPage, type DirectoryQuery, type Listed, parseCursor } from './api.ts';
import type { SessionRow } from './schema.ts';

/** How many sessions of a millisecond have rows of their own. Further sessions take rows of the next millisecond. */
const rowsOfMoment = 1_000;

/**
 * The index of the words of titles. Its rows have the order in which their sessions were created, so a page of a search
 * reads only the newest sessions that match. `whose` has hashes of the agent and the user, so that it reads no others.
 */
export class TitleRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Indexes the title of a session in place of the earlier title. Returns the new row, or null without a title. */
	keep({ id, agent, user, title, createdAt }: Listed, before: SessionRow | undefined): number | null {
		const row = before?.word_row ?? null;
		const isSame = before?.title === title && before?.agent === agent && (before.user ?? undefined) === user;
		if (row !== null && isSame && before?.created_at === createdAt) return row;
		this.remove(row);
		if (title === undefined) return null;
		let next = createdAt * rowsOfMoment;
		while (this.#sql.exec('SELECT 1 FROM word WHERE rowid = ?', next).toArray().length > 0) next++;
		this.#sql.exec(
			'INSERT INTO word (rowid, session, title, whose) VALUES (?, ?, ?, ?)',
			...[next, id, toIndexedText(title), `${toWord('a', agent)} ${toWord('u', user)}`],
		);
		return next;
	}

	remove(row: number | null): void {
		if (row !== null) this.#sql.exec('DELETE FROM word WHERE rowid = ?', row);
	}

	/** Lists the sessions whose titles have all words, the newest session first. */
	search(words: string, { cursor, limit, agent, user }: DirectoryQuery): DirectoryPage {
		const title = joinWords(splitWords(words), 'AND');
		if (title === undefined) return { sessions: [] };
		const whose = [
			...(agent === undefined ? [] : [`whose : ${toWord('a', agent)}`]),
			...(user === undefined ? [] : [`whose : ${toWord('u', user)}`]),
		];
		const { activeAt: row, id } =
			cursor === undefined ? { activeAt: Number.MAX_SAFE_INTEGER, id: '' } : parseCursor(cursor);
		const rows = this.#sql.exec<SessionRow & { word_row: number }>(
			`SELECT session.* FROM (
				SELECT rowid AS row, session FROM word
				WHERE word MATCH ?1 AND rowid <= ?2 AND (rowid, session) < (?2, ?3) ORDER BY rowid DESC LIMIT ?4
			) AS found CROSS JOIN session ON session.id = found.session ORDER BY row DESC`,
			...[[`title : (${title})`, ...whose].join(' AND '), row, id, limit + 1],
		);
		const found = rows.toArray().map((row) => ({ ...toListed(row), place: row.word_row }));
		// Two agents or users may have the same hash.
		const sessions = found
			.slice(0, limit)
			.filter((one) => isWanted(agent, one.agent) && isWanted(user, one.user ?? null));
		const last = found[limit - 1];
		return found.length > limit && last !== undefined ? { sessions, cursor: createCursor(last) } : { sessions };
	}
}

export function toListed({ id, agent, user, title, created_at: createdAt, active_at: activeAt }: SessionRow): Listed {
	return { id, agent, ...(user !== null && { user }), ...(title !== null && { title }), createdAt, activeAt };
}

function isWanted<T>(wanted: T | undefined, value: T): boolean {
	return wanted === undefined || wanted === value;
}

function toWord(kind: string, name: string | null = ''): string {
	return kind + hashText(name ?? '');
}
