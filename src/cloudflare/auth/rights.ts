import * as v from 'valibot';
import { type Actor, ways } from '../../core/base/actor.ts';
import { RunletError } from '../../core/base/errors.ts';

/** The scopes of a session token: read the session, send messages, decide about calls that wait for an approval. */
export const tokenScopes = ['read', 'message', 'approve'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** Each role also has the rights of the roles before it. */
export const roles = ['customer', 'staff', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The lowest role with a right, and the token scope that gives the right. */
interface Grant {
	readonly role: Role;
	readonly token?: TokenScope;
}

/** The rights within an owner (docs/keys.md, "Roles"). The rights of customers cover only their own sessions. */
export const rights = {
	seeAgents: { role: 'customer' },
	createSession: { role: 'customer' },
	listSessions: { role: 'customer' },
	readSession: { role: 'customer', token: 'read' },
	/** Send messages, answer questions, give results, continue and stop runs, change files. */
	sendMessage: { role: 'customer', token: 'message' },
	/** Decide about calls that wait for an approval. */
	decide: { role: 'staff', token: 'approve' },
	/** Rename, delete, fork and export sessions, and make tokens, links and schedules for them. Call tools without a run. */
	manageSession: { role: 'staff' },
	/** Create sessions for others: set `user`, `for` and `metadata`. */
	nameUser: { role: 'staff' },
	/** See the waiting calls and the feedback of all sessions. */
	seeInbox: { role: 'staff' },
	/** See users, their spending and their memories. */
	seeUsers: { role: 'staff' },
	seeSkills: { role: 'staff' },
	/** Make vectors of any text with any model, without an agent. */
	makeVectors: { role: 'staff' },
	/** Raise the budget of a session. */
	setBudget: { role: 'admin' },
	/** Set budgets of users, and erase users. */
	manageUsers: { role: 'admin' },
	importSession: { role: 'admin' },
	/** Define tools and servers of the owner, and log in to servers. */
	setUp: { role: 'admin' },
} as const satisfies Record<string, Grant>;

export type Right = keyof typeof rights;

export function isRight(name: string): name is Right {
	return name in rights;
}

/** All rights, in the order of the table. */
export const rightNames: readonly Right[] = Object.keys(rights).filter(isRight);

export function hasRight(role: Role, right: Right): boolean {
	return roles.indexOf(role) >= roles.indexOf(rights[right].role);
}

/** Returns undefined for a right that no token can have. */
export function findTokenScope(right: Right): TokenScope | undefined {
	const grant: Grant = rights[right];
	return grant.token;
}

/** Throws `forbidden`, which names the lowest role with the right. */
export function assertRight(role: Role, right: Right, field?: string): void {
	if (hasRight(role, right)) return;
	const needs = rights[right].role;
	const who = needs === 'staff' ? 'the role staff or admin' : `the role ${needs}`;
	throw new RunletError(
		'forbidden',
		`${field === undefined ? '' : `${field}: `}This needs ${who}; this one is ${role}.`,
		{ right, role: needs, ...(field !== undefined && { field }) },
	);
}

/** A role, or the scopes of a session token. Runlet itself has neither, and has all rights. */
export interface Granted {
	readonly role?: Role;
	readonly scopes?: readonly TokenScope[];
}

/** Lists the rights of a role, or of the scopes of a token. */
export function listRights({ role, scopes }: Granted): readonly Right[] {
	return rightNames.filter((right) => {
		const scope = findTokenScope(right);
		return role === undefined ? scope !== undefined && scopes?.includes(scope) : hasRight(role, right);
	});
}

export function assertMay({ role, scopes }: Granted, right: Right): void {
	if (role !== undefined) assertRight(role, right);
	if (scopes === undefined) return;
	const scope = findTokenScope(right);
	if (scope === undefined)
		throw new RunletError('forbidden', 'A session token may not do this. Use an API key, which no page should hold.');
	if (scopes.includes(scope)) return;
	throw new RunletError(
		'forbidden',
		`This needs a token with the scope ${scope}; this one has ${scopes.join(', ')}. Ask whoever has the API key for one: POST /v1/sessions/:id/token with scopes.`,
		{ scope },
	);
}

const entries = { owner: v.string(), user: v.optional(v.string()), via: v.picklist(ways), id: v.string() };

export const actorSchema: v.GenericSchema<unknown, Actor> = v.object({
	...entries,
	madeBy: v.optional(v.lazy(() => actorSchema)),
});

export function toActor(stored: unknown): Actor | undefined {
	const read = v.safeParse(actorSchema, stored);
	return read.success ? read.output : undefined;
}

export function toActors(stored: unknown): readonly Actor[] {
	return Array.isArray(stored) ? stored.flatMap((one) => toActor(one) ?? []) : [];
}

/** A user's name within an owner. Names are compared exactly. */
export const userName = v.pipe(
	v.string(),
	v.regex(
		/^(?!\p{Z}|\.{1,2}$)[^\p{C}]{1,200}(?<!\p{Z})$/u,
		'expected 1 to 200 characters without control characters and no space at its ends, and neither . nor ..',
	),
);
