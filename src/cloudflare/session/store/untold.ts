import type { Sql } from '../../objects/migrate.ts';
import { readParts } from './cost-parts.ts';
import type { Activity, Outgoing } from './outbox.ts';
import type { RunRows } from './runs.ts';
import { isListed, type SessionRow } from './session-row.ts';
import type { SpendingRows } from './spending.ts';

/** The rows that say what is to be told. */
interface Rows {
	readonly runs: RunRows;
	readonly spending: SpendingRows;
	/** Bytes of the session. */
	readonly bytes: number;
}

/** Milliseconds until an activity without a run is stored again. */
export const visitedForMs = 60_000;

/** Milliseconds until the list of sessions is told of an activity again. */
const listedForMs = 300_000;

/** How far the bytes of a session may be from those that its owner's list knows, until it is told of them. */
const unlistedBytes = 1_048_576;

/** How long a lease is told again where nobody knows whether it was, in milliseconds: a ledger knows it for longer. */
const tellableMs = 86_400_000;

/**
 * What the owner's ledger and list have to be told, and no row of the outbox says: what leases came to that have ended, that
 * the session is active, and what it waits for. The end of a lease and both ends of a run are stored anyway, so telling them costs no row;
 * what was told is remembered in memory, and the end of a run says when the list was told. A crash may come in between. The alarm that stands then makes the next life of the
 * object tell it again, which changes nothing: a ledger counts a lease once, and the list keeps the latest activity.
 */
export class Untold {
	readonly #findSession: () => SessionRow | undefined;
	readonly #rows: Rows;
	readonly #sql: Sql;
	/** The activity to be told. */
	#activity: Activity | undefined;
	/** When the activity was that this life of the object told last. */
	#listedAt: number | undefined;
	/** The bytes that the list knows, or those at the beginning of this life of the object. */
	#listedBytes = 0;
	/** Whether this life of the object looks after activities. */
	#isLooking = false;

	constructor(sql: Sql, findSession: () => SessionRow | undefined, rows: Rows) {
		this.#findSession = findSession;
		this.#sql = sql;
		this.#rows = rows;
	}

	/** Notes that the owner's list has to be told of an activity, unless it was told a moment ago and nothing is new. */
	noteActivity(isNew: boolean, now: number): void {
		this.#isLooking = true;
		if (!this.#isListed) return;
		const { listedAt } = this;
		if (isNew || listedAt === undefined || now - listedAt >= listedForMs) this.#activity = { at: now };
	}

	/** The newest activity that the owner's list was told of, as far as this life of the object or the newest run knows. */
	get listedAt(): number | undefined {
		return this.#listedAt ?? this.#rows.runs.get()?.listedAt;
	}

	/** Notes that the owner's list has to be told what the session waits for. Call `noteActivity` where that ends. */
	noteWait(): void {
		this.#isLooking = true;
		this.#activity = this.#findActivity();
	}

	/** Notes that the list knows the bytes of the session. */
	noteListedBytes(bytes: number): void {
		this.#listedBytes = bytes;
	}

	/** Notes that the owner's list has to be told of the bytes of the session, unless it knows them nearly. */
	noteBytes(): void {
		if (this.#findSession() === undefined) return;
		if (Math.abs(this.#rows.bytes - this.#listedBytes) < unlistedBytes) return;
		this.#isLooking = true;
		this.#activity ??= this.#findActivity();
	}

	/** Makes this life of the object tell what an earlier one may not have told. */
	lookBack(): void {
		if (this.#findSession() === undefined) return;
		this.#rows.spending.lookBack();
		if (!this.#isLooking) this.noteWait();
	}

	/** Whether there is nothing to tell, as far as this life of the object knows. */
	get isEmpty(): boolean {
		return this.#findSession() === undefined || (this.#activity === undefined && !this.#rows.spending.hasUntold);
	}

	/** Lists the messages. */
	list(now = Date.now()): readonly Outgoing[] {
		const row = this.#findSession();
		if (row === undefined) return [];
		const { owner, user, agent, title } = row.record;
		const { runs, spending } = this.#rows;
		const ended = spending.listUntold(now - tellableMs);
		const parts = readParts({ sql: this.#sql, runs, spending }, ended);
		const leases = ended.map((lease) => {
			const { id, amount, firstCall } = lease;
			const about = { owner, user, agent, parts: [...(parts.get(firstCall) ?? [])] };
			const message = { to: 'ledger', ...about, call: id, amount } as const;
			return { id: `ledger ${id}`, message, failed: 0, lease };
		});
		const activity = this.#activity;
		if (activity === undefined) return leases;
		const message = { to: 'list', activeAt: activity.at, title } as const;
		return [...leases, { id: 'list', message, failed: 0, activity }];
	}

	/** Notes that a message was delivered. */
	markTold(outgoing: Outgoing): void {
		const { message } = outgoing;
		if (message.to === 'list') this.#listedAt = Math.max(message.activeAt, this.#listedAt ?? 0);
		this.markStored(outgoing);
	}

	/** Notes that a message need not be told, because a row of the outbox says it now. */
	markStored({ lease, activity }: Outgoing): void {
		if (lease !== undefined) this.#rows.spending.markTold(lease);
		// What was noted meanwhile is told, too.
		if (activity !== undefined && activity === this.#activity) this.#activity = undefined;
	}

	/** Forgets everything, because the session is gone. */
	forget(): void {
		this.#rows.spending.forget();
		this.#activity = undefined;
		this.#listedAt = undefined;
		this.#isLooking = false;
	}

	/** Whether it is in the owner's list: a session that another one waits for is shown there. */
	get #isListed(): boolean {
		return isListed(this.#findSession()?.record);
	}

	#findActivity(): Activity | undefined {
		const row = this.#findSession();
		if (row === undefined || !this.#isListed) return undefined;
		const { visitedAt = 0, record } = row;
		return { at: Math.max(this.#rows.runs.get()?.createdAt ?? record.createdAt, visitedAt) };
	}
}
