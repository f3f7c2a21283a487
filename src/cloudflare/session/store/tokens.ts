import type { Sql } from '../../objects/migrate.ts';
import { type TokenScope, tokenScopes } from '../../wire/token.ts';

/** A token that was given out and not taken back. */
export interface TokenRecord {
	readonly id: string;
	/** The API key that it came from, and goes with. */
	readonly keyId: string;
	readonly scopes: readonly TokenScope[];
	/** Whether it came with the session itself, so that a repeated request gets it again. */
	readonly isFirst: boolean;
	/** Seconds since 1970. */
	readonly expiresAt: number;
}

/** The tokens that open a session. What is not here opens nothing. */
export class TokenRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores a new one, and forgets those whose time was over at `now`, in seconds since 1970. */
	add({ id, keyId, scopes, isFirst, expiresAt }: TokenRecord, now: number): void {
		this.#sql.exec('DELETE FROM token WHERE expires_at <= ?', now);
		this.#sql.exec(
			'INSERT INTO token (id, key_id, scopes, is_first, expires_at) VALUES (?, ?, ?, ?, ?)',
			...[id, keyId, scopes.join(' '), isFirst ? 1 : 0, expiresAt],
		);
	}

	get(id: string): TokenRecord | undefined {
		return this.#read('id = ?', id);
	}

	/** The one that a key got together with the session, as long as it is good. */
	first(keyId: string, now: number): TokenRecord | undefined {
		return this.#read('is_first = 1 AND key_id = ? AND expires_at > ?', keyId, now);
	}

	/** Whether it was there. */
	remove(id: string): boolean {
		return this.#sql.exec('DELETE FROM token WHERE id = ? RETURNING id', id).toArray().length > 0;
	}

	#read(where: string, ...values: (string | number)[]): TokenRecord | undefined {
		type Row = { id: string; key_id: string; scopes: string; is_first: number; expires_at: number };
		const row = this.#sql.exec<Row>(`SELECT * FROM token WHERE ${where} LIMIT 1`, ...values).toArray()[0];
		if (row === undefined) return undefined;
		const given = row.scopes.split(' ');
		const scopes = tokenScopes.filter((scope) => given.includes(scope));
		return { id: row.id, keyId: row.key_id, scopes, isFirst: row.is_first === 1, expiresAt: row.expires_at };
	}
}
