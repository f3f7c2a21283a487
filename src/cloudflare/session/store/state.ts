import type { StateChanges, StateStore } from '../../../core/tool/index.ts';
import type { Sql } from '../../objects/migrate.ts';

/** The state of the session's tools: a row for each key, with the value as JSON. */
export class StateRows implements StateStore {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	get(key: string): unknown {
		const [row] = this.#sql.exec<{ value: string }>('SELECT value FROM state WHERE key = ?', key).toArray();
		return row === undefined ? undefined : JSON.parse(row.value);
	}

	set(key: string, value: unknown): void {
		this.#sql.exec(
			'INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
			key,
			JSON.stringify(value),
		);
	}

	delete(key: string): void {
		this.#sql.exec('DELETE FROM state WHERE key = ?', key);
	}

	list(): readonly string[] {
		const rows = this.#sql.exec<{ key: string }>('SELECT key FROM state ORDER BY key').toArray();
		return rows.map(({ key }) => key);
	}

	change(changes: StateChanges): void {
		for (const [key, value] of changes) {
			if (value === undefined) this.delete(key);
			else this.set(key, value);
		}
	}
}

/** Returns the state for the loop, without `change`: the journal stores the changes with the result. */
export function createRunState(rows: StateRows): StateStore {
	return {
		get: (key) => rows.get(key),
		set: (key, value) => rows.set(key, value),
		delete: (key) => rows.delete(key),
		list: () => rows.list(),
		change: () => {},
	};
}
