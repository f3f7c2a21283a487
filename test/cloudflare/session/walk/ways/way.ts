/** A step of the walk: its request, its expected outcome, and its effects. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import { seen } from '../agents.ts';
import { pickTrying } from '../choose.ts';
import { peek, settle } from '../look.ts';
import { observe } from '../observe.ts';
import { makeMark, type Person, toName } from '../persons.ts';
import {
	type Caller,
	findChildCall,
	isIdle,
	judge,
	judgeIn,
	type Needs,
	type Outcome,
	remembers,
	type Session,
	type Token,
} from '../truth.ts';
import type { Answer, Asking, Target, Walk } from '../walk.ts';

/** A step, and its frequency. */
export interface Way {
	readonly name: string;
	readonly weight: number;
	/** Tries the step. Returns `false` if it is not possible. */
	readonly go: (walk: Walk) => Promise<boolean>;
}

/** One request to one session. */
export interface SessionWay extends Needs {
	readonly name: string;
	readonly weight: number;
	/** Whether the session is in the needed state. This is not called for a refused request. */
	readonly when?: (session: Session) => boolean;
	/** Creates the request. `person` is the author of its text: the session's, or somebody without access. */
	readonly make: (about: Trying) => Made | undefined;
	/** Checks the effects of an allowed request. */
	readonly after?: (about: Tried) => Promise<void>;
	/** The outcome of an allowed request that fails. */
	readonly fails?: Outcome;
	/** Returns the outcome of an allowed request. */
	readonly judge?: (trying: Trying, asked: Made) => Outcome;
	/** Whether the body is refused before a session is asked. */
	readonly isInvalid?: boolean;
}

/** A request, and the data that its way needs later. */
export interface Made extends Asking {
	readonly path: string;
	readonly message?: Message;
	readonly holder?: string;
	readonly revoked?: Token;
}

export interface Trying {
	readonly walk: Walk;
	readonly caller: Caller;
	readonly target: Target;
	/** The session. It is missing if the request has no session of the walk. */
	readonly session: Session | undefined;
	readonly person: Person | undefined;
}

export interface Tried extends Omit<Trying, 'session'> {
	readonly session: Session;
	readonly answer: Answer;
	readonly asked: Made;
}

/** The path of a session, or of something in it. */
export const toPath = (id: string, rest = '') => `/v1/sessions/${id}${rest}`;

/** Creates the way of a request to a session. A refused request changes nothing. */
export function toWay(way: SessionWay): Way {
	const go = async (walk: Walk) => {
		const { caller, target } = pickTrying(walk, way, way.when);
		const { session } = target;
		const judged = way.isInvalid === true ? judge(caller, way.right) : judgeIn(caller, session, way);
		const allowed = way.isInvalid === true && judged === 'ok' ? 400 : judged;
		if (allowed === 'ok' && session !== undefined && way.when?.(session) === false) return false;
		const person = allowed === 'ok' ? session : toPerson(caller);
		const trying = { walk, caller, target, session, person };
		const asked = way.make(trying);
		if (asked === undefined) return false;
		const outcome = allowed === 'ok' ? (way.fails ?? way.judge?.(trying, asked) ?? 'ok') : allowed;
		const { isForOperators } = way;
		const ask = () => walk.ask(caller, asked.path, { isForOperators, ...asked });
		if (outcome !== 'ok') await refused(walk, way.name, target, outcome, ask);
		else if (session !== undefined) {
			const answer = await ask();
			walk.expect(way.name, answer, 'ok');
			await way.after?.({ walk, caller, target, session, person, answer, asked });
		}
		return true;
	};
	return { name: way.name, weight: way.weight, go };
}

/** Sends a request that is refused, and checks that nothing has changed and nobody got anything. */
export async function refused(
	walk: Walk,
	way: string,
	target: Target | undefined,
	outcome: Outcome | number,
	ask: () => Promise<Answer>,
): Promise<Answer> {
	const before = target && (await peek(walk, target));
	const answer = await ask();
	walk.expect(way, answer, outcome);
	const after = target && (await peek(walk, target));
	walk.check(before === after, `${way}: refused, and changed the session:\n${before}\n${after}`);
	walk.check(
		seen.tools.length + seen.models.length === 0,
		`${way}: refused, and ${JSON.stringify([...seen.tools, ...seen.models])} ran`,
	);
	return answer;
}

/** The author of a caller's texts in a session to which the caller has no access. */
export function toPerson(caller: Caller): Person | undefined {
	if (caller.kind === 'person') return caller;
	return caller.kind === 'token' ? caller.token.session : undefined;
}

/** The commands in messages, and their frequency. */
const commands = [
	{ name: 'witness', weight: 30 },
	{ name: 'plain', weight: 8 },
	{ name: 'keep', weight: 12 },
	{ name: 'pay', weight: 10 },
	{ name: 'quiz', weight: 6 },
	{ name: 'order', weight: 4 },
	{ name: 'order-pay', weight: 2 },
	{ name: 'quiz-pay', weight: 2 },
	{ name: 'hand', weight: 4 },
	{ name: 'file', weight: 5 },
	{ name: 'wake', weight: 4 },
	{ name: 'child-witness', weight: 5 },
	{ name: 'child-pay', weight: 6 },
	{ name: 'child-quiz', weight: 2 },
	{ name: 'child-order', weight: 1 },
	{ name: 'off-witness', weight: 3 },
	{ name: 'off-pay', weight: 3 },
	{ name: 'fail', weight: 3 },
] as const;
export type Command = (typeof commands)[number]['name'];
const ofHelper: ReadonlySet<string> = new Set([
	'witness',
	'plain',
	'pay',
	'quiz',
	'order',
	'order-pay',
	'quiz-pay',
	'fail',
]);

/** A message of the walk. */
export interface Message {
	readonly command: Command;
	readonly mark: string;
	readonly text: string;
}

/** Writes a message of a person. */
export function write(walk: Walk, person: Person | undefined, given?: Command, agent = 'walker'): Message {
	const fitting = commands.filter(({ name }) => agent === 'walker' || ofHelper.has(name));
	const command = given ?? walk.pickByWeight(fitting).name;
	const mark = makeMark(person);
	const at = new Date(Date.now() + walk.ahead + 600_000).toISOString();
	return { command, mark, text: `I like green tea. #${command} ${mark}${command === 'wake' ? ` ${at}` : ''}` };
}

/** Notes a new message of somebody in a session. */
export function noteSaid(walk: Walk, session: Session, mark: string, askers: readonly Actor[]): void {
	session.askedBy = askers.at(-1);
	session.askers = askers;
	session.lastId = undefined;
	session.length += 4;
	walk.sayers.set(mark, askers);
}

/** Waits for the effects of a message, and compares them with the model. */
export async function follow(walk: Walk, session: Session, { command, mark }: Message): Promise<void> {
	await settle(walk, session);
	const { tools, models } = await observe(walk);
	if (command === 'fail') return walk.check(session.status === 'error', `A run that failed is ${session.status}`);
	walk.check(models.length > 0, `No model was asked for ${mark} in ${session.id} (${session.status})`);
	const isDone = session.status === 'completed';
	const witnessed = tools.filter((told) => told.what === 'witness' && told.marks.includes(mark));
	const ofChild = command === 'child-witness' || command === 'off-witness' ? 1 : 0;
	const expected = ofChild + (isDone && command !== 'plain' ? 1 : 0);
	walk.check(witnessed.length === expected, `${command}: ${witnessed.length} witnesses in place of ${expected}`);
	const known = walk.memories.get(toName(session));
	if (remembers(session) && session.agent === 'walker' && known !== undefined && known.size > 0)
		walk.check(
			models.some(({ marks }) => marks.some((one) => known.has(one))),
			`Nothing was recalled of ${toName(session)} in ${session.id}`,
		);
	if (!isDone) return;
	if (command === 'keep' && remembers(session)) remember(walk, session, mark);
	if (command === 'file') session.file = mark;
	if (command === 'wake') session.naps.set(mark, { name: `nap-${mark.slice(9)}`, askers: session.askers });
}

/** Notes a memory of the session's person. */
export function remember(walk: Walk, person: Person, mark: string): void {
	const name = toName(person);
	walk.memories.set(name, (walk.memories.get(name) ?? new Set()).add(mark));
}

/** Notes the session of an answer. */
export function addSession(
	walk: Walk,
	id: string,
	about: Person & Pick<Session, 'createdBy'> & Partial<Pick<Session, 'agent' | 'metadata' | 'file'>>,
): Session {
	const { owner, user, agent = 'walker', metadata = {}, createdBy, file } = about;
	const known = { owner, user, agent, metadata, createdBy, file, askers: [], calls: [] };
	return walk.add({ ...known, id, isGone: false, status: 'idle', length: 0, naps: new Map() });
}

/** The token in an answer. */
interface WithToken {
	readonly token: string;
	readonly tokenId: string;
	readonly tokenScopes: Token['scopes'];
}

/** Notes the token of an answer. */
export function addToken(walk: Walk, answer: Answer, session: Session, madeBy: Actor, holder?: string): void {
	const { token: text, tokenId: id, tokenScopes: scopes } = answer.json<WithToken>();
	if (walk.tokens.some((one) => one.session === session && one.id === id)) return;
	walk.tokens.push({ id, text, session, scopes, holder, madeBy, isRevoked: false });
}

/** Whether a session waits for the answer to a question that decides nothing. */
export function hasQuestion(session: Session): boolean {
	return session.status === 'awaiting_user' && findChildCall(session) === undefined;
}

/** Whether a session accepts a plain message. */
export function isFree(session: Session): boolean {
	return isIdle(session) && session.parent === undefined;
}
