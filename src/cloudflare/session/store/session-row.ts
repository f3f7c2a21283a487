import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import type { RunResult, TerminalEvent } from '../../../core/chat/index.ts';
import type { Label, StateChanges, StateStore } from '../../../core/tool/index.ts';
import { localIdentity } from '../../auth/identity.ts';
import { toActor } from '../../auth/rights.ts';
import { makeTokenKey } from '../../auth/token.ts';
import type { Config } from '../../config/config.ts';
import type { Limit } from '../../objects/budget.ts';
import { everybody } from '../../objects/directory/api.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { ImportOwner, Rerun } from '../../objects/session-api.ts';
import { nameShard } from '../../objects/shards.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { exportedLists } from '../../wire/export.ts';
import type { ClientTool } from '../../wire/run.ts';
import type { CachingSql } from './tables.ts';

/** A stored session. Times are in milliseconds since 1970. */
export interface SessionRecord {
	readonly id: string;
	readonly agent: string;
	readonly owner: string;
	readonly user?: string;
	readonly createdBy?: Actor;
	/** Whether the history was imported. The origin of imported texts is unknown. */
	readonly isImported?: boolean;
	/** The default is the agent's model. */
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	/** The default is the agent's budget. */
	readonly budget?: Limit;
	/** The time from the last activity to the removal, in milliseconds. The default is the agent's. */
	readonly expiresAfterMs?: number;
	readonly clientTools?: readonly ClientTool[];
	readonly title?: string;
	/** The session for which a child session works. */
	readonly parent?: ParentRecord;
	/** Set if the session runs a run of another session again. Then no call runs. */
	readonly rerun?: Rerun;
	readonly cleared?: readonly Clearing[];
	readonly labels?: ReadLabels;
	/** When a call without a run last left something with a label in files or the state, in milliseconds since 1970. */
	readonly leftByCalls?: Readonly<Partial<Record<Label, number>>>;
	/** The number of shards of the owner when the session was created. So its directory never changes. */
	readonly shards?: number;
	/** The number of shards of the list of all owners when it got the session. Missing if it does not have the session. */
	readonly shardsOfAll?: number;
	readonly createdAt: number;
}

/** A label that a person took back (docs/untrusted-text.md). What came in before does not count for it. */
export interface Clearing {
	readonly label: Label;
	readonly by?: Actor;
	readonly at: number;
	/** The place of the first message that counts. */
	readonly from: number;
}

/** What the older part of a session brought in. It is stored, so that this part need not be read again. */
export interface ReadLabels extends Readonly<Record<Label, boolean>> {
	/** The labels were read with this key. With another key, all messages have to be read again. */
	readonly key: string;
	/** The place after the last message that was read. */
	readonly from: number;
	/** The number of the last run that was read. */
	readonly run: number;
}

export interface ParentRecord {
	readonly id: string;
	/** The number of sessions above the child. */
	readonly depth: number;
	/** Whether the child reports its end by itself. Such a child is in the owner's list, and people answer it there. */
	readonly isBackground?: boolean;
	readonly agents?: readonly string[];
}

/** Whether a session without a user belongs to a person: to an account, or to the local machine. */
export function isOwners({ owner, createdBy }: Pick<SessionRecord, 'owner' | 'createdBy'>): boolean {
	return createdBy?.via === 'account' || owner === localIdentity.by.owner;
}

/** Whether a session is in its owner's list. A child is not in the list while its parent waits for it. */
export function isListed(session: Pick<SessionRecord, 'parent'> | undefined): boolean {
	return session?.parent === undefined || session.parent.isBackground === true;
}

/** Returns the name of the directory that lists a session. */
export function nameDirectory({
	owner,
	shards = 1,
	user,
	id,
}: Pick<SessionRecord, 'owner' | 'shards' | 'user' | 'id'>): string {
	return nameShard(owner, shards, user ?? id);
}

/**
 * Returns the number of shards of the list of all owners. Undefined if this list does not get the session (docs/api.md,
 * "Lists of all owners").
 */
export function findShardsOfAll(
	{ listsOfAll, findShardCount }: Pick<Config, 'listsOfAll' | 'findShardCount'>,
	session: Pick<SessionRecord, 'owner' | 'parent'>,
): number | undefined {
	const isIn = listsOfAll !== undefined && !listsOfAll.includes(session.owner) && isListed(session);
	return isIn ? findShardCount(everybody) : undefined;
}

/** Returns the names of the directories that list a session: its owner's, and that of all owners if it has the session. */
export function listDirectories(session: SessionRecord): readonly [own: string, ...ofAll: string[]] {
	const { shardsOfAll: shards } = session;
	const own = nameDirectory(session);
	return shards === undefined ? [own] : [own, nameDirectory({ ...session, owner: everybody, shards })];
}

export interface SessionRow {
	readonly record: SessionRecord;
	/** The time of the last activity outside of a run, exact to the minute. */
	readonly visitedAt?: number;
	/** When somebody last opened the session, as far as that is stored (docs/data.md, "Archive"). */
	readonly usedAt?: number;
	readonly tokenKey: string;
	readonly summary: number;
	readonly isImporting: boolean;
	readonly importProgress?: ImportProgress;
}

/** How far an import has come that goes on after an interruption. */
export interface ImportProgress {
	readonly owner: ImportOwner;
	/** How many bytes of the lines are stored, and how many lines. */
	readonly offset: number;
	readonly lines: number;
	/** Where the original's export goes on, for a fork. */
	readonly cursor?: string;
	readonly counts: Readonly<Record<(typeof exportedLists)[number], number>>;
	readonly lastRun: number;
	readonly lastMessage: number;
	/** The file whose pieces arrive. */
	readonly file?: { readonly path: string; readonly size: number; readonly at: number };
	/** When the newest lines were stored, in milliseconds since 1970. */
	readonly at: number;
}

export function createSessionReader(sql: CachingSql): () => SessionRow | undefined {
	return sql.cached('session', () => {
		const [row] = sql.exec<Row>('SELECT * FROM session').toArray();
		return row && toSessionRow(row);
	});
}

export function insertSession(
	sql: CachingSql,
	session: SessionRecord,
	{ isImporting }: { readonly isImporting: boolean },
): void {
	const { user, createdBy, isImported = false, rerun, shards = 1, shardsOfAll } = session;
	const { id, agent, owner, model, metadata, budget, expiresAfterMs, clientTools, title, createdAt, parent } = session;
	sql.insert('session', {
		...{ id, agent, owner, model: model ?? null, metadata: toJsonText(metadata), budget: toJsonText(budget) },
		...{ expires_after: expiresAfterMs ?? null, client_tools: toJsonText(clientTools), title: title ?? null },
		...{ created_at: createdAt, importing: isImporting ? 1 : null, parent: toJsonText(parent) },
		...{ token_key: makeTokenKey(), user: user ?? null, created_by: toJsonText(createdBy) },
		imported: isImported ? 1 : null,
		rerun: toJsonText(rerun),
		shards: shards === 1 ? null : shards,
		shards_of_all: shardsOfAll ?? null,
	});
}

type Row = {
	id: string;
	agent: string;
	owner: string;
	model: string | null;
	metadata: string | null;
	budget: string | null;
	expires_after: number | null;
	client_tools: string | null;
	title: string | null;
	created_at: number;
	listed_at: number | null;
	token_key: string;
	summary: number;
	importing: number | string | null;
	parent: string | null;
	user: string | null;
	created_by: string | null;
	imported: number | null;
	rerun: string | null;
	cleared: string | null;
	labels: string | null;
	shards: number | null;
	shards_of_all: number | null;
	used_at: number | null;
	left_by_calls: string | null;
};

function toSessionRow(row: Row): SessionRow {
	const record: SessionRecord = {
		id: row.id,
		agent: row.agent,
		owner: row.owner,
		user: row.user ?? undefined,
		createdBy: row.created_by === null ? undefined : toActor(JSON.parse(row.created_by)),
		isImported: row.imported === null ? undefined : true,
		model: row.model ?? undefined,
		metadata: row.metadata === null ? undefined : JSON.parse(row.metadata),
		budget: row.budget === null ? undefined : JSON.parse(row.budget),
		expiresAfterMs: row.expires_after ?? undefined,
		clientTools: row.client_tools === null ? undefined : JSON.parse(row.client_tools),
		title: row.title ?? undefined,
		parent: row.parent === null ? undefined : JSON.parse(row.parent),
		rerun: row.rerun === null ? undefined : JSON.parse(row.rerun),
		cleared: row.cleared === null ? undefined : JSON.parse(row.cleared),
		labels: row.labels === null ? undefined : JSON.parse(row.labels),
		leftByCalls: row.left_by_calls === null ? undefined : JSON.parse(row.left_by_calls),
		shards: row.shards ?? undefined,
		shardsOfAll: row.shards_of_all ?? undefined,
		createdAt: row.created_at,
	};
	const { listed_at: visitedAt, token_key: tokenKey, summary, importing } = row;
	return {
		record,
		visitedAt: visitedAt ?? undefined,
		usedAt: row.used_at ?? undefined,
		tokenKey,
		summary,
		isImporting: importing !== null,
		// SAFETY: only `keepImport` stores a text here.
		importProgress: typeof importing === 'string' ? JSON.parse(importing) : undefined,
	};
}

export function noSuchSession(): RunletError {
	return new RunletError('not_found', 'There is no such session.');
}

/** The status of a session (docs/sessions.md, "Statuses"). */
export type Status = 'idle' | 'running' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error';

export type RunStatus = 'running' | RunResult['status'] | 'cancelled' | 'error';

export type Operation = 'reply' | 'answer' | 'submit' | 'continue' | 'step' | 'cancel';

const allowed: Readonly<Record<Status, readonly Operation[]>> = {
	idle: ['reply', 'cancel'],
	completed: ['reply', 'cancel'],
	running: ['cancel'],
	awaiting_user: ['reply', 'answer', 'cancel'],
	awaiting_tools: ['submit', 'cancel'],
	error: ['reply', 'continue', 'step', 'cancel'],
};

/** The operations of a waiting session without open calls, such as after a step. */
const afterStep: readonly Operation[] = ['continue', 'step', 'cancel'];

const routes: Readonly<Record<Operation, string>> = {
	reply: 'POST messages',
	answer: 'POST answer',
	submit: 'POST tool-results',
	continue: 'POST continue',
	step: 'POST step',
	cancel: 'POST cancel',
};

type OpenCall = { readonly id: string; readonly kind?: 'approval' };

/** Throws `conflict` if the status does not allow the operation. The message lists the allowed operations. */
export function assertAllowed(status: Status, operation: Operation, openCalls?: readonly OpenCall[]): void {
	const possible = status === 'awaiting_tools' && openCalls?.length === 0 ? afterStep : allowed[status];
	if (possible.includes(operation)) return;
	const hint = status === 'awaiting_tools' ? describeWaiting(openCalls ?? []) : '';
	const names = possible.map((name) => routes[name]).join(', ');
	throw new RunletError(
		'conflict',
		`The session is ${status}: ${routes[operation]} is not possible now. Possible: ${names}.${hint}`,
		{ status, allowed: possible },
	);
}

const mostNamed = 5;

function describeWaiting(calls: readonly OpenCall[]): string {
	const say = (what: string, waiting: readonly OpenCall[]): string => {
		if (waiting.length === 0) return '';
		const ids = waiting.slice(0, mostNamed).map(({ id }) => JSON.stringify(id.slice(0, 64)));
		const rest = waiting.length > mostNamed ? ` and ${waiting.length - mostNamed} more` : '';
		return ` Waiting for ${what} of ${ids.join(', ')}${rest}.`;
	};
	const approvals = calls.filter(({ kind }) => kind === 'approval');
	const results = calls.filter(({ kind }) => kind !== 'approval');
	return `${say('the approval', approvals)}${say('the result', results)}`;
}

export function canTakeNext(status: Status): boolean {
	return status === 'idle' || status === 'completed' || status === 'error';
}

export function isWaiting(status: Status): boolean {
	return status === 'awaiting_user' || status === 'awaiting_tools';
}

export function sessionStatus(run: RunStatus | undefined): Status {
	switch (run) {
		case undefined:
		case 'cancelled':
			return 'idle';
		case 'halted':
			return 'completed';
		default:
			return run;
	}
}

export function toRunStatus(event: TerminalEvent): RunStatus {
	switch (event.type) {
		case 'done':
			return 'completed';
		case 'awaiting':
			return event.status;
		default:
			return event.type;
	}
}

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

/** Returns the state for the loop. `change` does nothing, because the journal stores the changes with the result. */
export function createRunState(rows: StateRows): StateStore {
	return {
		get: (key) => rows.get(key),
		set: (key, value) => rows.set(key, value),
		delete: (key) => rows.delete(key),
		list: () => rows.list(),
		change: () => {},
	};
}
