import type { Sql } from '../migrate.ts';
import { createExcerpt, joinWords, splitWords, toIndexedText } from '../words.ts';
import { createCursor, type DirectoryPage, type DirectoryQuery, type Listed, parseCursor } from './api.ts';
import { ContentRows } from './content-rows.ts';
import type { SessionRow } from './schema.ts';
import { matchAgents, matchWhose, toWhose } from './whose.ts';

/** How many sessions of a millisecond have rows of their own. Further sessions take rows of the next millisecond. */
const rowsOfMoment = 1_000;

/**
 * The index of the words of titles. Its rows have the order in which their sessions were created, so a page of a search
 * reads only the newest sessions that match. `whose` has hashes of the agent and the user, so that it reads no others.
 */
export class TitleRows {
	readonly contents: ContentRows;
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.contents = new ContentRows(sql);
		this.#sql = sql;
	}

	/** Indexes the title and the text of a session in place of the earlier ones. Returns the new row, or null without a title. */
	keep(listed: Listed, text: string | undefined, before: SessionRow | undefined): number | null {
		const row = this.#keepTitle(listed, before);
		this.contents.keep(listed, text, row);
		return row;
	}

	#keepTitle({ id, agent, user, title, createdAt }: Listed, before: SessionRow | undefined): number | null {
		const row = before?.word_row ?? null;
		const isSame = before?.title === title && before?.agent === agent && (before.user ?? undefined) === user;
		if (row !== null && isSame && before?.created_at === createdAt) return row;
		this.remove(row);
		if (title === undefined) return null;
		let next = createdAt * rowsOfMoment;
		while (this.#sql.exec('SELECT 1 FROM word WHERE rowid = ?', next).toArray().length > 0) next++;
		this.#sql.exec(
			'INSERT INTO word (rowid, session, title, whose) VALUES (?, ?, ?, ?)',
			...[next, id, toIndexedText(title), toWhose(agent, user)],
		);
		return next;
	}

	remove(row: number | null): void {
		if (row === null) return;
		this.#sql.exec('DELETE FROM word WHERE rowid = ?', row);
		this.contents.remove(row);
	}

	/** Lists the sessions whose titles, or titles and contents, have all words, the newest session first. */
	search(words: string, { cursor, limit, agent, user, contentsOf = [] }: DirectoryQuery): DirectoryPage {
		const searched = splitWords(words);
		const all = joinWords(searched, 'AND');
		if (all === undefined) return { sessions: [] };
		const hasContents = contentsOf.length > 0 && this.contents.isMade;
		const byContent = hasContents ? [`{title text} : (${all}) AND ${matchAgents(contentsOf)}`] : [];
		const matches = [`title : (${all})`, ...byContent].map((match) =>
			[match, ...matchWhose({ agent, user })].join(' AND '),
		);
		const both = `SELECT * FROM (${find('word', 4)}) AS by_title
			UNION SELECT * FROM (${find('content', 5)}) AS by_content ORDER BY row DESC LIMIT ?3`;
		const { activeAt: row, id } =
			cursor === undefined ? { activeAt: Number.MAX_SAFE_INTEGER, id: '' } : parseCursor(cursor);
		const rows = this.#sql.exec<SessionRow & { word_row: number }>(
			`SELECT session.* FROM (${hasContents ? both : find('word', 4)}) AS found
			CROSS JOIN session ON session.id = found.session ORDER BY row DESC`,
			...[row, id, limit + 1, ...matches],
		);
		const found = rows.toArray().map((row) => {
			// An agent can have no `searchContents` any more.
			const text = contentsOf.includes(row.agent) ? this.contents.find(row.word_row)?.text : undefined;
			const excerpt = text && createExcerpt(text, searched);
			return { ...toListed(row), place: row.word_row, ...(excerpt && { excerpt }) };
		});
		// Two agents or users may have the same hash.
		const sessions = found
			.slice(0, limit)
			.filter((one) => isWanted(agent, one.agent) && isWanted(user, one.user ?? null));
		const last = found[limit - 1];
		return found.length > limit && last !== undefined ? { sessions, cursor: createCursor(last) } : { sessions };
	}
}

/** Selects the newest rows of an index that match a parameter. */
function find(table: 'word' | 'content', match: number): string {
	return `SELECT rowid AS row, session FROM ${table}
		WHERE ${table} MATCH ?${match} AND rowid <= ?1 AND (rowid, session) < (?1, ?2) ORDER BY rowid DESC LIMIT ?3`;
}

export function toListed({ id, owner, agent, user, title, created_at, active_at }: SessionRow): Listed {
	const whose = { ...(owner !== null && { owner }), agent, ...(user !== null && { user }) };
	return { id, ...whose, ...(title !== null && { title }), createdAt: created_at, activeAt: active_at };
}

function isWanted<T>(wanted: T | undefined, value: T): boolean {
	return wanted === undefined || wanted === value;
}
