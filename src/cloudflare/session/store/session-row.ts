import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { toActor } from '../../auth/actor.ts';
import { localIdentity } from '../../auth/identity.ts';
import { makeTokenKey } from '../../auth/token.ts';
import type { Limit } from '../../objects/budget.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { ClientTool } from '../../wire/run.ts';
import type { CachingSql } from './tables.ts';

/** A session as it is stored. */
export interface SessionRecord {
	readonly id: string;
	readonly agent: string;
	/** The tenant that it belongs to. */
	readonly owner: string;
	/** The person in it whose session it is. Like the owner it never changes. */
	readonly user?: string;
	/** Who created it. A session of an earlier version does not say it. */
	readonly createdBy?: Actor;
	/** Whether its history came from an import, so that nobody knows where its texts come from. */
	readonly isImported?: boolean;
	/** The session's model; the agent's if missing. */
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	/** Its budget; the agent's budget if missing. */
	readonly budget?: Limit;
	/** How long after its last activity it is removed, in milliseconds; the agent's time if missing. */
	readonly expiresAfterMs?: number;
	/** Tools that its client carries out, in addition to the agent's. */
	readonly clientTools?: readonly ClientTool[];
	/** The beginning of its first message, once there is one. */
	readonly title?: string;
	/** The session that it works for. */
	readonly parent?: ParentRecord;
	/** Milliseconds since 1970, as every time here. */
	readonly createdAt: number;
}

/** The session that another one works for. */
export interface ParentRecord {
	readonly id: string;
	/** How many sessions stand above this one. */
	readonly depth: number;
	/** Whether the one that works tells by itself what came of it. Then it is in the owner's list, and asks there. */
	readonly isBackground?: boolean;
	/** The agents above, the nearest one last. A session of an earlier version does not say them. */
	readonly agents?: readonly string[];
}

/** Whether the owner of a session is itself the person: an account without a user, or this machine. */
export function isOwners({ owner, createdBy }: Pick<SessionRecord, 'owner' | 'createdBy'>): boolean {
	return createdBy?.via === 'account' || owner === localIdentity.by.owner;
}

/** Whether a session is in its owner's list: one that another session waits for is shown there. */
export function isListed(session: Pick<SessionRecord, 'parent'> | undefined): boolean {
	return session?.parent === undefined || session.parent.isBackground === true;
}

/** The row of a session: the session, and what the store keeps beside it. */
export interface SessionRow {
	readonly record: SessionRecord;
	/** When the session was last active without a run, to the minute. */
	readonly visitedAt?: number;
	/** The key that signs the session's tokens. A session of an earlier version has none until the first one is made. */
	readonly tokenKey?: string;
	/** The place of the newest summary. */
	readonly summary: number;
	/** Whether its import has not come to its end. */
	readonly isImporting: boolean;
}

/** Makes the reader of a session's row. It gives nothing where no session is stored. */
export function createSessionReader(sql: CachingSql): () => SessionRow | undefined {
	return sql.cached('session', () => {
		const [row] = sql.exec<Row>('SELECT * FROM session').toArray();
		return row && toSessionRow(row);
	});
}

/** Inserts the row of a new session, with a key that signs its tokens. */
export function insertSession(
	sql: CachingSql,
	session: SessionRecord,
	{ isImporting }: { readonly isImporting: boolean },
): void {
	const { user, createdBy, isImported = false } = session;
	const { id, agent, owner, model, metadata, budget, expiresAfterMs, clientTools, title, createdAt, parent } = session;
	sql.write(
		'session',
		`INSERT INTO session (
			id, agent, owner, model, metadata, budget, expires_after, client_tools, title, created_at, importing, parent,
			token_key, user, created_by, imported
		) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		...[id, agent, owner, model ?? null, toJsonText(metadata), toJsonText(budget), expiresAfterMs ?? null],
		...[toJsonText(clientTools), title ?? null, createdAt, isImporting ? 1 : null, toJsonText(parent), makeTokenKey()],
		...[user ?? null, toJsonText(createdBy), isImported ? 1 : null],
	);
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
	token_key: string | null;
	summary: number;
	importing: number | null;
	parent: string | null;
	user: string | null;
	created_by: string | null;
	imported: number | null;
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
		createdAt: row.created_at,
	};
	const { listed_at: visitedAt, token_key: tokenKey, summary, importing } = row;
	return {
		record,
		visitedAt: visitedAt ?? undefined,
		tokenKey: tokenKey ?? undefined,
		summary,
		isImporting: importing !== null,
	};
}

/** The error of a session that is not there, or is not the caller's. */
export function noSuchSession(): RunletError {
	return new RunletError('not_found', 'There is no such session.');
}
