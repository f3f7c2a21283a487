import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { Held } from '../budget.ts';
import { migrate, type Sql } from '../migrate.ts';
import {
	createCursor,
	type DirectoryPage,
	type DirectoryQuery,
	type Listed,
	parseCursor,
	type SessionReport,
} from './api.ts';
import type { FeedbackChange } from './feedback.ts';
import { FeedbackRows } from './feedback-rows.ts';
import { hidden, idle, kept, listed, nameIndex, removed, type SessionRow, schema, waits } from './schema.ts';
import { TitleRows, toListed } from './title-rows.ts';
import type { WaitingPage, WaitingQuery } from './wait.ts';
import { WaitRows } from './wait-rows.ts';

/** Milliseconds for which a removed session is remembered. */
const rememberedMs = 86_400_000;

/** How many old rows a removal deletes at most. Each removal adds only one row, so old rows do not pile up. */
const forgottenAtOnce = 100;

/** Milliseconds for which the session of a request is remembered. No client waits that long. */
const sentMs = 3_600_000;

/** The methods are synchronous. `DirectoryApi` describes them. */
export class DirectoryStore {
	readonly #storage: DurableObjectStorage;
	readonly #waits: WaitRows;
	readonly #titles: TitleRows;
	readonly held: HeldRows;
	readonly feedback: FeedbackRows;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.#waits = new WaitRows(storage.sql);
		this.#titles = new TitleRows(storage.sql);
		this.held = new HeldRows(storage.sql);
		this.feedback = new FeedbackRows(storage.sql);
		storage.transactionSync(() => migrate(storage.sql, schema));
	}

	touch({ wait, isHidden = false, text, ...entry }: SessionReport): void {
		const { id, owner = null, agent, user = null, title = null, createdAt, activeAt } = entry;
		const { sql } = this.#storage;
		const more = this.#storage.transactionSync(() => {
			const row = this.#read(id);
			const before = row === undefined || row.state === removed ? 0 : row.bytes;
			const { bytes = before } = entry;
			const keepRest = (known: SessionRow) => {
				this.#titles.contents.keep(toListed(known), text, known.word_row);
				if (bytes !== before) sql.exec('UPDATE session SET bytes = ? WHERE id = ?', bytes, id);
				return bytes - before;
			};
			// A report of an activity that is already known can still have a new text and a new number of bytes.
			if (row !== undefined && isOld(entry, row))
				return row.state === removed || row.created_at !== createdAt ? 0 : keepRest(row);
			if (wait !== undefined) this.#waits.set({ id, agent, user }, wait);
			const wasWaiting = row?.state === waits;
			const isWaiting = wait === undefined ? wasWaiting : wait !== null;
			const state = isHidden ? hidden : isWaiting ? waits : idle;
			if (row?.state === state && isKnown(entry, row)) return keepRest(row);
			const wordRow = this.#titles.keep(isHidden ? { ...entry, title: undefined } : entry, text, row);
			sql.exec(
				`INSERT INTO session (id, agent, title, created_at, active_at, state, user, bytes, word_row, owner)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, title = excluded.title, created_at = excluded.created_at,
					active_at = excluded.active_at, state = excluded.state, user = excluded.user, bytes = excluded.bytes,
					word_row = excluded.word_row, owner = excluded.owner`,
				...[id, agent, title, createdAt, activeAt, state, user, bytes, wordRow, owner],
			);
			return bytes - before;
		});
		this.held.add(user, more);
	}

	/** Marks a session as removed. Keeps its creation time if the session is listed. Otherwise uses `now`. */
	remove(id: string, now: number): void {
		const row = this.#read(id);
		this.#storage.transactionSync(() => {
			this.#storage.sql.exec(
				`DELETE FROM session WHERE id IN (
					SELECT id FROM session WHERE state = ${removed} AND active_at <= ? ORDER BY active_at LIMIT ?
				)`,
				...[now - rememberedMs, forgottenAtOnce],
			);
			this.#waits.set({ id, agent: '', user: null }, null);
			this.feedback.removeSession(id);
			this.#titles.remove(row?.word_row ?? null);
			this.#storage.sql.exec(
				`INSERT INTO session (id, agent, created_at, active_at, state) VALUES (?1, '', ?2, ?2, ${removed})
				ON CONFLICT (id) DO UPDATE SET agent = '', title = NULL, user = NULL, active_at = excluded.active_at,
					state = ${removed}, bytes = 0, word_row = NULL, owner = NULL`,
				...[id, now],
			);
		});
		if (row !== undefined && row.state !== removed) this.held.add(row.user, -row.bytes);
	}

	/** Does nothing for a session that was removed. */
	putFeedback(change: FeedbackChange): void {
		this.#storage.transactionSync(() => {
			if (this.#read(change.session)?.state !== removed) this.feedback.put(change);
		});
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

	list(query: DirectoryQuery): DirectoryPage {
		if (query.words !== undefined) return this.#titles.search(query.words, query);
		const { cursor, limit, agent, user, isWaiting = false, withHidden = false } = query;
		const behind = cursor === undefined ? { activeAt: Number.MAX_SAFE_INTEGER, id: '' } : parseCursor(cursor);
		const range = (state: number) => `SELECT * FROM session INDEXED BY ${nameIndex('session', { agent, user })}
			WHERE state = ${state} ${agent === undefined ? '' : 'AND agent = ?1'} ${user === undefined ? '' : 'AND user IS ?2'}
				AND (active_at, id) < (?3, ?4)`;
		const ranges = isWaiting ? [range(waits)] : (withHidden ? kept : listed).map(range);
		const rows = this.#storage.sql.exec<SessionRow>(
			`${ranges.join(' UNION ALL ')} ORDER BY active_at DESC, id DESC LIMIT ?5`,
			...[agent ?? null, user ?? null, behind.activeAt, behind.id, limit + 1],
		);
		const found = rows.toArray().map(toListed);
		const sessions = found.slice(0, limit);
		const last = sessions.at(-1);
		return found.length > limit && last !== undefined ? { sessions, cursor: createCursor(last) } : { sessions };
	}

	#read(id: string): SessionRow | undefined {
		return this.#storage.sql.exec<SessionRow>('SELECT * FROM session WHERE id = ?', id).toArray()[0];
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

	listOwners(limit: number, after = ''): string[] {
		const query = 'SELECT name FROM owner WHERE name > ? ORDER BY name LIMIT ?';
		const rows = this.#storage.sql.exec<{ name: string }>(query, after, limit);
		return rows.toArray().map(({ name }) => name);
	}
}

function isOld({ createdAt, activeAt }: Listed, row: SessionRow): boolean {
	return row.state === removed ? createdAt <= row.created_at : activeAt < row.active_at;
}

function isKnown({ agent, title, createdAt, activeAt }: Listed, row: SessionRow): boolean {
	const isSame = agent === row.agent && (title ?? null) === row.title && createdAt === row.created_at;
	return activeAt === row.active_at && isSame;
}

const mostKept = 10_000;

/** The bytes of the sessions. An instance sums them once and then adds changes, instead of reading all rows again. */
export class HeldRows {
	readonly #sql: Sql;
	#all: number | undefined;
	readonly #users = new Map<string, number>();

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	read(user?: string): Held {
		this.#all ??= this.#sum(`state <> ${removed}`);
		if (user === undefined) return { owner: this.#all };
		const ofUser = this.#users.get(user) ?? this.#sum(`user = ? AND state IN (${kept.join(', ')})`, user);
		this.#users.set(user, ofUser);
		const [oldest] = this.#users.keys();
		if (this.#users.size > mostKept && oldest !== undefined) this.#users.delete(oldest);
		return { owner: this.#all, user: ofUser };
	}

	/** Adds a change of bytes. Call it after the change is stored. */
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
