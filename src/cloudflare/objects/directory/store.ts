import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { migrate } from '../migrate.ts';
import type { DirectoryPage, DirectoryQuery, Listed, Told } from './api.ts';
import { createCursor, parseCursor } from './api.ts';
import { HeldRows } from './held.ts';
import { schema } from './schema.ts';
import type { WaitingPage, WaitingQuery } from './wait.ts';
import { WaitRows } from './wait-rows.ts';

/** How long a removed session is remembered, in milliseconds. */
const rememberedMs = 86_400_000;

/** The most removed sessions that are forgotten at once. Each call adds one, so they do not pile up. */
const forgottenAtOnce = 100;

/** How long a request is known that its client may send again, in milliseconds. No client waits that long. */
const sentMs = 3_600_000;

/** The rows of a directory. Every method is synchronous. `DirectoryApi` says what each promises. */
export class DirectoryStore {
	readonly #storage: DurableObjectStorage;
	readonly #waits: WaitRows;
	/** What the sessions hold. */
	readonly held: HeldRows;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.#waits = new WaitRows(storage.sql);
		this.held = new HeldRows(storage.sql);
		storage.transactionSync(() => migrate(storage.sql, schema));
	}

	touch({ wait, ...entry }: Told): void {
		const { id, agent, user = null, title = null, createdAt, activeAt } = entry;
		const { sql } = this.#storage;
		const more = this.#storage.transactionSync(() => {
			const [row] = sql.exec<Row>('SELECT * FROM session WHERE id = ?', id).toArray();
			const before = row?.removed === 0 ? row.bytes : 0;
			const { bytes = before } = entry;
			if (row !== undefined && isOld(entry, row)) {
				// Its activity is known, and its bytes are new.
				if (row.removed === 1 || row.created_at !== createdAt || row.bytes === bytes) return 0;
				sql.exec('UPDATE session SET bytes = ? WHERE id = ?', bytes, id);
				return bytes - before;
			}
			if (wait !== undefined) this.#waits.set(id, agent, wait);
			if (row !== undefined && isKnown(entry, row) && row.bytes === bytes) return 0;
			const hour = toHour(activeAt);
			if (row?.removed === 0 && row.hour === hour)
				sql.exec(
					'UPDATE session SET agent = ?, title = ?, created_at = ?, active_at = ?, bytes = ? WHERE id = ?',
					...[agent, title, createdAt, activeAt, bytes, id],
				);
			else
				sql.exec(
					`INSERT OR REPLACE INTO session (id, agent, title, created_at, active_at, removed, hour, user, bytes)
					VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
					...[id, agent, title, createdAt, activeAt, hour, user, bytes],
				);
			return bytes - before;
		});
		this.held.add(user, more);
	}

	/** A listed session keeps its own time of creation. One that was never listed gets `now`, which is late enough. */
	remove(id: string, now: number): void {
		const forgottenAt = now - rememberedMs;
		const listed = 'SELECT * FROM session WHERE id = ? AND removed = 0';
		const [row] = this.#storage.sql.exec<Row>(listed, id).toArray();
		this.#storage.transactionSync(() => {
			this.#storage.sql.exec(
				`DELETE FROM session WHERE id IN (
					SELECT id FROM session WHERE removed = 1 AND hour <= ? AND active_at <= ? ORDER BY hour LIMIT ?
				)`,
				...[toHour(forgottenAt), forgottenAt, forgottenAtOnce],
			);
			this.#waits.set(id, '', null);
			this.#storage.sql.exec(
				`INSERT INTO session (id, agent, title, created_at, active_at, removed, hour) VALUES (?1, '', NULL, ?2, ?2, 1, ?3)
				ON CONFLICT (id) DO UPDATE SET agent = '', title = NULL, user = NULL, active_at = excluded.active_at, removed = 1,
					hour = excluded.hour, bytes = 0`,
				...[id, now, toHour(now)],
			);
		});
		if (row !== undefined) this.held.add(row.user, -row.bytes);
	}

	noteSent(request: string, session: string, now: number): void {
		const { sql } = this.#storage;
		this.#storage.transactionSync(() => {
			sql.exec(
				'DELETE FROM sent WHERE request IN (SELECT request FROM sent WHERE sent_at <= ? ORDER BY sent_at LIMIT ?)',
				now - sentMs,
				forgottenAtOnce,
			);
			sql.exec(
				`INSERT INTO sent (request, session, sent_at) VALUES (?, ?, ?)
				ON CONFLICT (request) DO UPDATE SET session = excluded.session, sent_at = excluded.sent_at`,
				...[request, session, now],
			);
		});
	}

	findSent(request: string, now: number): string | undefined {
		type Row = { session: string };
		const rows = this.#storage.sql.exec<Row>(
			'SELECT session FROM sent WHERE request = ? AND sent_at > ?',
			request,
			now - sentMs,
		);
		return rows.toArray()[0]?.session;
	}

	list({ cursor, limit, agent, user, isWaiting = false }: DirectoryQuery): DirectoryPage {
		const behind = cursor === undefined ? undefined : parseCursor(cursor);
		const rows = this.#storage.sql.exec<Row>(
			`SELECT * FROM session
			WHERE removed = 0 ${behind === undefined ? '' : 'AND hour <= ? AND (active_at, id) < (?, ?)'}
				${agent === undefined ? '' : 'AND agent = ?'} ${user === undefined ? '' : 'AND user IS ?'} ${isWaiting ? 'AND id IN (SELECT session FROM wait)' : ''}
			ORDER BY hour DESC, active_at DESC, id DESC LIMIT ?`,
			...(behind === undefined ? [] : [toHour(behind.activeAt), behind.activeAt, behind.id]),
			...(agent === undefined ? [] : [agent]),
			...(user === undefined ? [] : [user]),
			limit + 1,
		);
		const found = rows.toArray().map(({ id, agent, user, title, created_at: createdAt, active_at: activeAt }) => {
			return { id, agent, ...(user !== null && { user }), ...(title !== null && { title }), createdAt, activeAt };
		});
		const sessions = found.slice(0, limit);
		const last = sessions.at(-1);
		return found.length > limit && last !== undefined ? { sessions, cursor: createCursor(last) } : { sessions };
	}

	listWaiting(page: WaitingQuery): WaitingPage {
		return this.#waits.list(page);
	}

	addOwner(owner: string): void {
		this.#storage.sql.exec('INSERT OR IGNORE INTO owner (name) VALUES (?)', owner);
	}

	hasOwner(owner: string): boolean {
		return this.#storage.sql.exec('SELECT 1 FROM owner WHERE name = ?', owner).toArray().length > 0;
	}

	listOwners(limit: number): string[] {
		const rows = this.#storage.sql.exec<{ name: string }>('SELECT name FROM owner ORDER BY name LIMIT ?', limit);
		return rows.toArray().map(({ name }) => name);
	}
}

type Row = {
	id: string;
	agent: string;
	user: string | null;
	title: string | null;
	created_at: number;
	active_at: number;
	removed: number;
	hour: number;
	bytes: number;
};

/** Whether what a session tells is older than what is stored under its id. */
function isOld({ createdAt, activeAt }: Listed, row: Row): boolean {
	return row.removed === 1 ? createdAt <= row.created_at : activeAt < row.active_at;
}

/** Whether a session is listed as it tells. */
function isKnown({ agent, title, createdAt, activeAt }: Listed, row: Row): boolean {
	const isSame = agent === row.agent && (title ?? null) === row.title && createdAt === row.created_at;
	return row.removed === 0 && activeAt === row.active_at && isSame;
}

function toHour(time: number): number {
	return Math.floor(time / 3_600_000);
}
