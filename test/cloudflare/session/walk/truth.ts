/** The model of the walk: people, sessions, their owners, and rights. It never asks the Worker. */
import type { Role, TokenScope } from '../../../../src/cloudflare/auth/rights.ts';
import type { Actor } from '../../../../src/core/base/actor.ts';
import { areOne, type Person, toName } from './persons.ts';

/** Somebody with a key or an account. */
export interface PersonCaller extends Person {
	readonly kind: 'person';
	readonly role: Role;
	readonly scopes: readonly string[];
	/** The actor of their messages. */
	readonly actor: Actor;
	readonly headers: Readonly<Record<string, string>>;
}

/** A token of a session. */
export interface Token {
	readonly id: string;
	readonly text: string;
	readonly session: Session;
	readonly scopes: readonly TokenScope[];
	readonly holder?: string;
	readonly madeBy: Actor;
	isRevoked: boolean;
}

/** The holder of a session's token. */
export interface TokenCaller {
	readonly kind: 'token';
	readonly token: Token;
	/** Whether the text of the token was changed. */
	readonly isForged: boolean;
	readonly headers: Readonly<Record<string, string>>;
}

/** A caller without a valid credential. */
export interface Stranger {
	readonly kind: 'stranger';
	readonly headers: Readonly<Record<string, string>>;
}

export type Caller = PersonCaller | TokenCaller | Stranger;

/** A call that waits for somebody. */
export interface Waiting {
	readonly id: string;
	readonly name: string;
	readonly kind?: string;
	readonly input: unknown;
}

/** A session of the walk. */
export interface Session extends Person {
	readonly id: string;
	readonly agent: string;
	readonly metadata: Readonly<Record<string, string>>;
	readonly createdBy?: Actor;
	/** The parent session, for which this session works. */
	readonly parent?: Session;
	/** Whether the session works in the background, so that nobody waits for its result. */
	readonly isBackground?: boolean;
	/** Who sent the newest message, or asked for it. */
	askedBy?: Actor;
	/** The askers of the waiting call. */
	askers: readonly Actor[];
	isGone: boolean;
	status: string;
	calls: readonly Waiting[];
	question?: {
		readonly callId: string;
		readonly question: string;
		readonly options?: Readonly<Record<string, unknown>>;
	};
	/** The newest run, when the session was last seen. */
	runId?: string;
	/** The approximate number of messages. */
	length: number;
	/** The marks of its wake-ups. */
	readonly naps: Map<string, Nap>;
	/** The id and the mark of the newest message, if this message only called the witness. */
	lastId?: string;
	lastMark?: string;
	/** The mark in the file of the session. */
	file?: string;
}

/** A wake-up of a session. */
export interface Nap {
	readonly name: string;
	readonly askers: readonly Actor[];
}

/** A link to decide about a call. */
export interface Link {
	readonly url: string;
	readonly approve: boolean;
	readonly session: Session;
	readonly callId: string;
	/** The call of the link. Each call is decided once. */
	readonly about: string;
	readonly by: Actor;
}

export type Outcome = 'ok' | 400 | 401 | 403 | 404 | 409;

/** The lowest role that has a right, and the scope with which a token has the right. */
const table = {
	createSession: ['customer'],
	listSessions: ['customer'],
	readSession: ['customer', 'read'],
	sendMessage: ['customer', 'message'],
	decide: ['staff', 'approve'],
	manageSession: ['staff'],
	nameUser: ['staff'],
	makeVectors: ['staff'],
	seeInbox: ['staff'],
	seeUsers: ['staff'],
	setBudget: ['admin'],
	manageUsers: ['admin'],
	importSession: ['admin'],
	setUp: ['admin'],
} as const satisfies Record<string, readonly [Role, TokenScope?]>;
export type Right = keyof typeof table;

const order: readonly Role[] = ['customer', 'staff', 'admin'];

/** Whether a role has a right. */
export function hasRight(role: Role, right: Right): boolean {
	return order.indexOf(role) >= order.indexOf(table[right][0]);
}

/** Whether somebody has the scope `admin`, with which they may read and remove the data of all owners. */
export function isOperator(caller: Caller): boolean {
	return caller.kind === 'person' && caller.scopes.includes('admin');
}

/** The outcome of a request that needs a right, before a session is asked. */
export function judge(caller: Caller, right: Right, isForOperators = false): Outcome {
	if (caller.kind === 'stranger') return 401;
	if (caller.kind === 'token') return table[right].length > 1 ? 'ok' : 403;
	if (isForOperators && isOperator(caller)) return 'ok';
	return caller.scopes.includes('run') && hasRight(caller.role, right) ? 'ok' : 403;
}

/** The needs of a request to a session. */
export interface Needs {
	readonly right: Right;
	/** The right that the route needs, if it is another right, because the route does not read the body. */
	readonly route?: Right;
	/** Further rights, which depend on the body. */
	readonly also?: readonly Right[];
	readonly isForOperators?: boolean;
	/** Whether the path of the route has the session's id, as in `/v1/sessions/:id`. */
	readonly isInRoute?: boolean;
	/**
	 * Which requests a child session refuses with 409: a change and a link after the check of rights, and a request that
	 * may begin a run before that check. A background child that waits for somebody refuses only changes.
	 */
	readonly refusal?: 'change' | 'link' | 'run';
}

/** The outcome of a request to a session. */
export function judgeIn(
	caller: Caller,
	session: Session | undefined,
	{ right, route = right, also = [], isForOperators = false, isInRoute = true, refusal }: Needs,
): Outcome {
	// The rights of a token are stored only in its session.
	const before = caller.kind === 'token' && isInRoute ? 'ok' : judge(caller, route, isForOperators);
	if (before !== 'ok') return before;
	const isThere = session !== undefined && !session.isGone;
	let has = (_: Right): boolean => true;
	if (caller.kind === 'token') {
		const { token, isForged } = caller;
		if (token.session.id !== session?.id || !isThere) return 404;
		// Another session may have the id of a removed session.
		if (isForged || token.isRevoked || token.session !== session) return 401;
		const scopes: readonly string[] = token.scopes;
		has = (one) => scopes.includes(table[one].at(1) ?? '');
	} else if (caller.kind === 'person') {
		if (!isThere) return 404;
		if (!(isForOperators && isOperator(caller))) {
			if (caller.owner !== session.owner) return 404;
			if (caller.role === 'customer' && caller.user !== session.user) return 404;
			has = (one) => hasRight(caller.role, one);
		}
	} else return 401;
	const works = session.parent !== undefined && (refusal === 'change' || !isAsking(session));
	if (works && refusal === 'run') return 409;
	if (!has(right)) return 403;
	if (works && refusal !== undefined) return 409;
	return also.every(has) ? 'ok' : 403;
}

/** Whether a session works in the background and waits for somebody. */
function isAsking({ isBackground, status }: Session): boolean {
	return isBackground === true && status.startsWith('awaiting');
}

/** Whether a caller may read texts with the mark of a person. */
export function maySee(caller: Caller, name: string, isForOperators: boolean): boolean {
	if (name === 'x-non') return true;
	if (caller.kind === 'stranger') return false;
	if (caller.kind === 'token') return name === toName(caller.token.session);
	if (isForOperators && isOperator(caller)) return true;
	return caller.role === 'customer'
		? name === toName(caller)
		: name.startsWith(toName({ owner: caller.owner })[0] ?? '');
}

/** The actor of a caller's message in a session. */
export function toSpeaker(caller: Caller, { owner, user }: Person): Actor {
	const actor = toActor(caller, { owner, user });
	// A key without a user speaks for the person of the session.
	const speaks = actor.user === undefined && user !== undefined && (actor.via === 'key' || actor.via === 'mcp');
	return speaks ? { ...actor, user, madeBy: actor } : actor;
}

/** The actor of a caller. */
export function toActor(caller: Caller, { owner, user: own }: Person): Actor {
	if (caller.kind === 'person') return caller.actor;
	if (caller.kind === 'stranger') throw new Error('A stranger did something.');
	const { id, holder, madeBy } = caller.token;
	const user = holder ?? own ?? madeBy.user;
	return { owner, ...(user !== undefined && { user }), via: 'token', id, madeBy };
}

/** The policy of the agents: anybody may deny, and no asker may approve. */
export function judgeDecision({ askers }: Session, by: Actor, approve: boolean): Outcome {
	return approve && askers.some((asker) => areOne(asker, by)) ? 403 : 'ok';
}

/** The call of a child that a session asks to approve. */
export function findChildCall({ question }: Session): { readonly id: string; readonly input: unknown } | undefined {
	const { kind, call } = question?.options ?? {};
	return kind === 'approval' ? (call as { id: string; input: unknown }) : undefined;
}

/** Whether nothing runs in a session, and it waits for nobody. */
export function isIdle({ status }: Session): boolean {
	return ['idle', 'completed', 'error'].includes(status);
}

/** Whether the session uses the memory of its person. */
export function remembers({ user, createdBy }: Session): boolean {
	return user !== undefined || createdBy?.via === 'account';
}
