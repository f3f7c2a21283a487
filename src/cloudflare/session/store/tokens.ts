import type { Actor } from '../../../core/base/actor.ts';
import { type TokenScope, toActor, tokenScopes } from '../../auth/rights.ts';
import type { Sql } from '../../objects/migrate.ts';
import { toJsonText } from '../../objects/storage.ts';

export interface TokenRecord {
	readonly id: string;
	/** The API key that made the token. If the key ends, the token ends. */
	readonly keyId: string;
	readonly scopes: readonly TokenScope[];
	readonly holder?: string;
	readonly madeBy?: Actor;
	/** Whether the token was created with the session. A repeated request gets the same token again. */
	readonly isFirst: boolean;
	/** In seconds since 1970. */
	readonly expiresAt: number;
}

export class TokenRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores a new token and removes expired tokens. `now` is in seconds since 1970. */
	add({ id, keyId, scopes, holder, madeBy, isFirst, expiresAt }: TokenRecord, now: number): void {
		this.#sql.exec('DELETE FROM token WHERE expires_at <= ?', now);
		this.#sql.exec(
			'INSERT INTO token (id, key_id, scopes, is_first, expires_at, holder, made_by) VALUES (?, ?, ?, ?, ?, ?, ?)',
			...[id, keyId, scopes.join(' '), isFirst ? 1 : 0, expiresAt, holder ?? null, toJsonText(madeBy)],
		);
	}

	get(id: string): TokenRecord | undefined {
		return this.#read('id = ?', id);
	}

	first(keyId: string, now: number): TokenRecord | undefined {
		return this.#read('is_first = 1 AND key_id = ? AND expires_at > ?', keyId, now);
	}

	remove(id: string): boolean {
		return this.#sql.exec('DELETE FROM token WHERE id = ? RETURNING id', id).toArray().length > 0;
	}

	#read(where: string, ...values: (string | number)[]): TokenRecord | undefined {
		type Row = Record<'id' | 'key_id' | 'scopes', string> & {
			is_first: number;
			expires_at: number;
			holder: string | null;
			made_by: string | null;
		};
		const row = this.#sql.exec<Row>(`SELECT * FROM token WHERE ${where} LIMIT 1`, ...values).toArray()[0];
		if (row === undefined) return undefined;
		const given = row.scopes.split(' ');
		const scopes = tokenScopes.filter((scope) => given.includes(scope));
		const { id, key_id: keyId, holder, made_by: made, expires_at: expiresAt } = row;
		const madeBy = made === null ? undefined : toActor(JSON.parse(made));
		return { id, keyId, scopes, holder: holder ?? undefined, madeBy, isFirst: row.is_first === 1, expiresAt };
	}
}
