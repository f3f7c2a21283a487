import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { toActor } from '../../auth/actor.ts';
import { localIdentity } from '../../auth/identity.ts';
import { makeTokenKey } from '../../auth/token.ts';
import type { Limit } from '../../objects/budget.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { ClientTool } from '../../wire/run.ts';
import type { CachingSql } from './tables.ts';

/** A stored session. Times are in milliseconds since 1970. */
export interface SessionRecord {
	readonly id: string;
	readonly agent: string;
	readonly owner: string;
	readonly user?: string;
	readonly createdBy?: Actor;
	/** Whether the history was imported, so that the origin of its texts is unknown. */
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
	readonly createdAt: number;
}

export interface ParentRecord {
	readonly id: string;
	/** The number of sessions above the child. */
	readonly depth: number;
	/** Whether the child reports its end by itself. Then it is in the owner's list, and people answer it there. */
	readonly isBackground?: boolean;
	readonly agents?: readonly string[];
}

/** Whether the owner of a session is itself the person: an account without a user, or the local machine. */
export function isOwners({ owner, createdBy }: Pick<SessionRecord, 'owner' | 'createdBy'>): boolean {
	return createdBy?.via === 'account' || owner === localIdentity.by.owner;
}

/** Whether a session is in its owner's list. A child for which its parent waits is not. */
export function isListed(session: Pick<SessionRecord, 'parent'> | undefined): boolean {
	return session?.parent === undefined || session.parent.isBackground === true;
}

export interface SessionRow {
	readonly record: SessionRecord;
	/** The last activity without a run, to the minute. */
	readonly visitedAt?: number;
	readonly tokenKey: string;
	readonly summary: number;
	readonly isImporting: boolean;
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
	const { user, createdBy, isImported = false } = session;
	const { id, agent, owner, model, metadata, budget, expiresAfterMs, clientTools, title, createdAt, parent } = session;
	sql.insert('session', {
		...{ id, agent, owner, model: model ?? null, metadata: toJsonText(metadata), budget: toJsonText(budget) },
		...{ expires_after: expiresAfterMs ?? null, client_tools: toJsonText(clientTools), title: title ?? null },
		...{ created_at: createdAt, importing: isImporting ? 1 : null, parent: toJsonText(parent) },
		...{ token_key: makeTokenKey(), user: user ?? null, created_by: toJsonText(createdBy) },
		imported: isImported ? 1 : null,
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
		tokenKey,
		summary,
		isImporting: importing !== null,
	};
}

export function noSuchSession(): RunletError {
	return new RunletError('not_found', 'There is no such session.');
}
