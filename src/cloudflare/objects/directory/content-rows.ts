import type { Sql } from '../migrate.ts';
import { toIndexedText } from '../words.ts';
import type { Listed } from './api.ts';
import { contents } from './schema.ts';
import { toWhose } from './whose.ts';

/**
 * The index of the words of titles and contents. A session has the row that it has in the index of titles, so both
 * indexes have one order. A report has the session's whole text, so a repeated report changes nothing.
 */
export class ContentRows {
	readonly #sql: Sql;
	#isMade: boolean | undefined;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Whether the index exists. It is made for the first session with a text. */
	get isMade(): boolean {
		this.#isMade ??= this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'content'").toArray().length > 0;
		return this.#isMade;
	}

	/** Indexes the text of a session in place of the earlier text. Without a text removes the row. */
	keep({ id, agent, user, title = '' }: Listed, text: string | undefined, row: number | null): void {
		if (text === undefined) this.remove(row);
		if (text === undefined || row === null) return;
		const words = [toIndexedText(title), toIndexedText(text)] as const;
		const kept = this.find(row);
		if (kept?.title === words[0] && kept.text === words[1]) return;
		if (!this.isMade) {
			this.#sql.exec(contents);
			// A rollback removes the table.
			this.#isMade = undefined;
		}
		this.#sql.exec(
			'INSERT OR REPLACE INTO content (rowid, session, title, text, whose) VALUES (?, ?, ?, ?, ?)',
			...[row, id, ...words, toWhose(agent, user)],
		);
	}

	/** Returns the indexed title and text in a row. */
	find(row: number): { readonly title: string; readonly text: string } | undefined {
		if (!this.isMade) return undefined;
		type Row = { title: string; text: string };
		return this.#sql.exec<Row>('SELECT title, text FROM content WHERE rowid = ?', row).toArray()[0];
	}

	remove(row: number | null): void {
		if (row !== null && this.isMade) this.#sql.exec('DELETE FROM content WHERE rowid = ?', row);
	}
}
