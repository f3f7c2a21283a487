/** Chooses a caller and a session. */
import { env } from 'cloudflare:test';
import {
	type Caller,
	isOperator,
	judgeIn,
	type Needs,
	type PersonCaller,
	type Session,
	type Token,
	type TokenCaller,
} from './truth.ts';
import type { Target, Walk } from './walk.ts';

/** Chooses a caller and a session. In a third of the cases the caller has the right. */
export function pickTrying(walk: Walk, needs: Needs, isRight: (one: Session) => boolean = () => true) {
	const session = walk.chance(35) ? walk.pick(walk.sessions.filter((one) => !one.isGone && isRight(one))) : undefined;
	const known = session && walk.pick(listCallers(walk, session).filter((one) => judgeIn(one, session, needs) === 'ok'));
	if (session !== undefined && known !== undefined) return { caller: known, target: walk.toTarget(session) };
	const caller = pickCaller(walk);
	return { caller, target: pickTarget(walk, caller, isRight) };
}

/** Chooses a caller: with a key or a login, with a token, or nobody. */
export function pickCaller(walk: Walk): Caller {
	const chance = walk.random(1, 100);
	if (chance <= 4) return makeStranger(walk);
	if (chance <= 24 && walk.tokens.length > 0) return makeTokenCaller(walk);
	return pickPerson(walk);
}

/** Chooses somebody with a key or a login, seldom an operator. */
export function pickPerson(walk: Walk, fits: (one: PersonCaller) => boolean = () => true): PersonCaller {
	const isOperatorMeant = walk.chance(3);
	const fitting = walk.people.filter((one) => fits(one) && isOperator(one) === isOperatorMeant);
	return walk.pick(fitting) ?? walk.pick(walk.people.filter(fits)) ?? walk.operator;
}

/** Lists the possible callers of a session: people of its owner, operators, and holders of its tokens. */
function listCallers(walk: Walk, session: Session): readonly Caller[] {
	const people = walk.people.filter((one) => one.owner === session.owner || isOperator(one));
	return [...people, ...walk.tokens.filter((one) => one.session === session).map((one) => toCaller(one, false))];
}

function makeStranger(walk: Walk): Caller {
	const { text = '' } = walk.pick(walk.tokens) ?? {};
	const key = `rl_${'0'.repeat(16)}_${'A'.repeat(43)}`;
	const headers = walk.choose<Record<string, string>>(
		{},
		{ authorization: `Bearer ${key}` },
		{ authorization: 'Bearer something' },
		{ authorization: `Bearer ${text.slice(0, 40)}` },
		{ cookie: 'theme=dark' },
	);
	return { kind: 'stranger', headers };
}

function makeTokenCaller(walk: Walk): Caller {
	const alive = walk.tokens.filter(({ session, isRevoked }) => !session.isGone && !isRevoked);
	const token = (walk.chance(85) ? walk.pick(alive) : undefined) ?? walk.pick(walk.tokens);
	if (token === undefined) return makeStranger(walk);
	return toCaller(token, walk.chance(8));
}

/**
 * Chooses a session for a caller: often their own, else that of a colleague, of another owner, or none. It mostly is in
 * the state that the request needs, with or without the right.
 */
export function pickTarget(walk: Walk, caller: Caller, isRight: (one: Session) => boolean = () => true): Target {
	const alive = walk.sessions.filter(({ isGone }) => !isGone);
	const right = walk.chance(85) ? alive.filter(isRight) : alive;
	const chance = walk.random(1, 100);
	if (chance > 97) return { id: env.SESSIONS.newUniqueId().toString() };
	const { owner, user } = caller.kind === 'person' ? caller : { owner: '', user: undefined };
	const isMine = (one: Session) =>
		caller.kind === 'token' ? one === caller.token.session : one.owner === owner && one.user === user;
	const isNear = (one: Session) => !isMine(one) && (caller.kind !== 'person' || one.owner === owner);
	const isFar = (one: Session) => one.owner !== owner;
	const fits = chance <= 50 ? isMine : chance <= 75 ? isNear : isFar;
	const session =
		chance > 93 ? walk.pick(walk.sessions) : (walk.pick(right.filter(fits)) ?? walk.pick(right) ?? walk.pick(alive));
	return session === undefined ? { id: env.SESSIONS.newUniqueId().toString() } : walk.toTarget(session);
}

/** Creates the caller with a token, unchanged or with another signature. */
export function toCaller(token: Token, isForged: boolean): TokenCaller {
	const text = isForged ? forge(token.text) : token.text;
	return { kind: 'token', token, isForged, headers: { authorization: `Bearer ${text}` } };
}

/** Changes a character in the middle of a signature, so that it keeps its form. */
export function forge(text: string): string {
	const at = text.length - 20;
	return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}
