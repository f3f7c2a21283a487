import type { Context } from 'hono';
import { toBase64Url } from '../../core/base/bytes.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import { findKeyId } from '../auth/identity.ts';
import { hasRight } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askDirectory } from '../objects/directory/api.ts';
import type { Once } from '../objects/once.ts';
import type { ConversationUpdate, CreateInput, Handling, RunOutcome } from '../objects/session-api.ts';
import type { PersonCaller, RouteEnv } from './identity.ts';
import { createSessionId } from './request.ts';
import { askSession, toSessionName } from './respond.ts';

/** Milliseconds from the last activity to the removal of a session, if the request names no session. */
const fleetingMs = 3_600_000;

const sessionHeader = 'Runlet-Session';

/** Who speaks with which agent. */
export interface Speaker {
	readonly caller: PersonCaller;
	readonly user: string | undefined;
	readonly agent: Agent;
}

/** Where a conversation goes on, for protocols that do not use the header `Runlet-Session`. */
export interface Place {
	/** Missing for a new session. */
	readonly id?: DurableObjectId;
	/** Whether a new session is kept. If not, it is removed an hour after its last activity. */
	readonly isKept: boolean;
	/** Prepares a new session before the request reaches it. A retry prepares the same session again. */
	prepare?(id: DurableObjectId): Promise<void>;
}

export interface Conversing {
	readonly speaker: Speaker;
	readonly how: Handling;
	/** Identifies a request of a client that repeats it without saying so. The same text is the same request. */
	readonly repeatable?: string;
	/** The default is the session that the header `Runlet-Session` names, or a new one. */
	readonly place?: Place;
	/** Reads what the request adds. `isKept`: the request names its session. */
	readUpdate(isKept: boolean): NewPart;
	/** Throws `overloaded` with a cause if the session broke off before the answer was whole. */
	answer(outcome: RunOutcome, session: string): Response | Promise<Response>;
	/** Answers a request whose run has possibly begun. No client may repeat it. */
	fail(error: RunletError): Response;
	/** Answers a request that began no run. */
	refuse(error: RunletError): Response;
}

export interface NewPart extends Omit<ConversationUpdate, 'agent' | 'user' | 'create'> {
	/** The messages before. Missing if they cannot begin a session. */
	readonly history?: CreateInput['history'];
}

/**
 * Sends the new part of a conversation to the session that the header `Runlet-Session` names by its id or by a name of
 * the client's own. Without the header, sends it to a new session, which is removed an hour later. For protocols whose
 * clients send the whole conversation each time (docs/openai.md, "Sessions").
 */
export async function converse(
	c: Context<RouteEnv>,
	{ speaker, how: given, repeatable, place, readUpdate, answer, fail, refuse }: Conversing,
): Promise<Response> {
	const { caller, agent, user } = speaker;
	const resend = await readResend(c, repeatable);
	const how = { ...given, once: given.once ?? resend };
	const header = place === undefined ? c.req.header(sessionHeader) : undefined;
	const isKept = place?.isKept ?? header !== undefined;
	const { history, ...part } = readUpdate(isKept);
	const { id, isNew, isUnknown } =
		place?.id === undefined ? await findSession(c, speaker, how, { resend, header }) : { id: place.id, isNew: true };
	const note = async () => isUnknown && resend && noteSent(c, caller.owner, resend, id.toString());
	if (place?.prepare !== undefined) await note().then(() => place.prepare?.(id));
	const update = { ...part, agent: agent.name, user };
	const create = isNew && history !== undefined && createInput(speaker, history, isKept);
	const answered = askSession(c, id, (one) => one.converse(caller, create ? { ...update, create } : update, how))
		.then((outcome) => answer(outcome, id.toString()))
		.catch((error: unknown) => {
			if (how.once === undefined && mayHaveBegun(error)) return fail(createLostError());
			if (error instanceof RunletError && isAnswer(error)) return refuse(error);
			throw error;
		});
	const [response] = await Promise.all([answered, place?.prepare === undefined && note()]);
	if (response.status !== 404) response.headers.set(sessionHeader, id.toString());
	return response;
}

function createInput({ caller, user, agent }: Speaker, history: CreateInput['history'], isKept: boolean): CreateInput {
	const { owner, by } = caller;
	const expiresAfterMs = Math.min(agent.expiresAfterMs ?? fleetingMs, fleetingMs);
	return { agent: agent.name, owner, user, by, history, ...(!isKept && { expiresAfterMs }) };
}

/** Returns the user that the request names, if the caller can name users. Otherwise returns the caller's own user. */
export function findUser({ by, role }: PersonCaller, named: string | null | undefined): string | undefined {
	return (hasRight(role, 'nameUser') ? named : undefined) ?? by.user;
}

/** Whether the session itself sent this error. If the session did not answer, the error has a `cause`. */
function isAnswer(error: unknown): boolean {
	return error instanceof RunletError && error.cause === undefined;
}

/**
 * Whether the request has possibly begun a run: the session's error names a run, or the session did not answer, but was
 * not overloaded.
 */
function mayHaveBegun(error: unknown): boolean {
	if (!(error instanceof RunletError)) return false;
	if (isAnswer(error)) return error.code === 'storage_unavailable' && error.data?.run !== undefined;
	return error.code === 'overloaded' && Reflect.get(Object(error.cause), 'overloaded') !== true;
}

/** The error for a lost answer. The request had no key, so a retry would start a second run. */
function createLostError(): RunletError {
	const remedy = `Look into the session that ${sessionHeader} names, or send an Idempotency-Key with the next request`;
	return new RunletError('interrupted', `The answer was lost, and its run may go on. ${remedy}.`);
}

/**
 * Returns the session that the header names by its id or by the client's own name. Without the header, returns a new
 * session, or for a retry the session of the first attempt. `isUnknown`: the session is not stored for retries yet.
 */
async function findSession(
	c: Context<RouteEnv>,
	{ caller, user, agent: { name } }: Speaker,
	how: Handling,
	{ resend, header }: { readonly resend: Once | undefined; readonly header: string | undefined },
): Promise<{ readonly id: DurableObjectId; readonly isNew: boolean; readonly isUnknown?: boolean }> {
	const { sessions, placeSessions } = readConfig(c.env);
	const { owner } = caller;
	const ids = placeSessions({ owner, agent: name });
	if (header === undefined && resend !== undefined) {
		const before = await findResent(c, owner, resend);
		if (before !== undefined) return { id: sessions.idFromString(before), isNew: true };
		return { id: ids.newUniqueId(), isNew: true, isUnknown: true };
	}
	// If two persons send the same text as a key, it counts as two keys.
	const speaker = { ...caller, by: { ...caller.by, user } };
	if (header === undefined) return { id: createSessionId(c, speaker, name, how), isNew: true };
	const text = header.trim();
	if (text === '' || text.length > 200)
		throw createFieldError(
			'invalid_request',
			sessionHeader,
			'expected the id of a session, or a name of your own with 1 to 200 characters.',
		);
	try {
		return { id: sessions.idFromString(text), isNew: false };
	} catch {
		const ownName = toSessionName({ owner, user }, 'chat', name, text);
		return { id: ids.idFromName(ownName), isNew: true };
	}
}

/**
 * Returns a key for requests without an `Idempotency-Key`: for the `openai` package, which counts its retries in a header,
 * and for clients that do not count, if `repeatable` identifies the request.
 */
export async function readResend(c: Context<RouteEnv>, repeatable?: string): Promise<Once | undefined> {
	const count = repeatable === undefined ? c.req.header('x-stainless-retry-count') : '1';
	const { identity } = c.var;
	const text = repeatable ?? c.var.bodyText;
	if (count === undefined || !/^\d{1,4}$/.test(count) || text === undefined) return undefined;
	if (identity.kind !== 'person' || c.req.header('idempotency-key') !== undefined) return undefined;
	const bytes = new TextEncoder().encode(
		`${findKeyId(identity.by)} ${JSON.stringify(identity.by.user ?? null)} ${c.req.path} ${text}`,
	);
	const request = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	// No Idempotency-Key has a space, so no client can send this key.
	return { key: `resent ${request}`, request, isFirst: Number(count) === 0 };
}

/** Finds the session of an earlier attempt. Throws if the read fails, because a second run would repeat the effects. */
async function findResent(
	c: Context<RouteEnv>,
	owner: string,
	{ request, isFirst }: Once,
): Promise<string | undefined> {
	if (isFirst) return undefined;
	return askDirectory(readConfig(c.env).directories, owner, (one) => one.findSent(request));
}

/** Stores the session of a request, for retries. Never throws. Without the entry, a retry counts as a new request. */
async function noteSent(c: Context<RouteEnv>, owner: string, { request }: Once, session: string): Promise<void> {
	try {
		await askDirectory(readConfig(c.env).directories, owner, (one) => one.noteSent(request, session));
	} catch (cause) {
		log('warn', 'request.not_noted', toFailureFields(cause));
	}
}
