import type { Sql } from '../migrate.ts';
import type { Held } from '../room.ts';
import { listed, removed } from './schema.ts';

/** The most users whose sums are kept. The oldest are forgotten. */
const mostKept = 10_000;

/**
 * What the sessions of a directory hold, in bytes. A sum is made once in a life of the object, and then follows what
 * changes, so that it costs no row.
 */
export class HeldRows {
	readonly #sql: Sql;
	#all: number | undefined;
	readonly #users = new Map<string, number>();

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** The bytes of all sessions, and those of a user. */
	read(user?: string): Held {
		this.#all ??= this.#sum(`state <> ${removed}`);
		if (user === undefined) return { owner: this.#all };
		const ofUser = this.#users.get(user) ?? this.#sum(`user = ? AND state IN (${listed.join(', ')})`, user);
		this.#users.set(user, ofUser);
		const [oldest] = this.#users.keys();
		if (this.#users.size > mostKept && oldest !== undefined) this.#users.delete(oldest);
		return { owner: this.#all, user: ofUser };
	}

	/** Notes that a session of a user holds so many bytes more, or less. Call it once that is stored. */
	add(user: string | null, bytes: number): void {
		if (this.#all !== undefined) this.#all += bytes;
		const ofUser = user === null ? undefined : this.#users.get(user);
		if (user !== null && ofUser !== undefined) this.#users.set(user, ofUser + bytes);
	}

	#sum(where: string, ...values: readonly string[]): number {
		const query = `SELECT COALESCE(SUM(bytes), 0) AS bytes FROM session WHERE ${where}`;
		return this.#sql.exec<{ bytes: number }>(query, ...values).one().bytes;
	}
}
