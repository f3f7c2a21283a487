/** The walk: asks the Worker as somebody, holds the answer against what is known, and looks at what it did. */
import { env } from 'cloudflare:test';
import type { Actor } from '../../../../src/core/ground/actor.ts';
import { restart } from '../../../client.ts';
import { createRandom, type Random } from '../../../endurance/random.ts';
import { type Told, takeSeen } from './agents.ts';
import type { createWorld } from './callers.ts';
import { listNames, makeMark, type Person, toName } from './persons.ts';
import {
	type Caller,
	isIdle,
	isOperator,
	type Link,
	maySee,
	type Outcome,
	type PersonCaller,
	remembers,
	type Session,
	type Token,
	type TokenCaller,
	type Waiting,
} from './truth.ts';

/** A request of the walk. */
export interface Asking {
	readonly method?: string;
	/** A text goes as it is, anything else as JSON. */
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether an operator may read all owners by it. */
	readonly isForOperators?: boolean;
	/** The one person whose marks may be in the answer. */
	readonly only?: Person;
}

export interface Answer {
	readonly status: number;
	readonly text: string;
	readonly headers: Headers;
	/** The body as JSON, as what the walk reads there. */
	json<T>(): T;
}

/** A session that a request names: of the walk, or none. */
export interface Target {
	readonly id: string;
	readonly session?: Session;
}

/** The state of a session, as an operator reads it. */
interface State {
	readonly owner: string;
	readonly user?: string;
	readonly agent: string;
	readonly metadata?: Readonly<Record<string, string>>;
	readonly status: string;
	readonly toolCalls?: readonly Waiting[];
	readonly question?: Session['question'];
	readonly parent?: { readonly id: string };
	readonly waiting?: number;
	readonly children?: readonly StateOfChild[];
}

interface StateOfChild {
	readonly id: string;
	readonly agent: string;
	readonly background?: boolean;
	readonly spent?: object;
}

/** What a break of a promise throws. */
class Broken extends Error {}

export class Walk {
	readonly random: Random;
	readonly people: readonly PersonCaller[];
	readonly operator: PersonCaller;
	readonly sessions: Session[] = [];
	readonly tokens: Token[] = [];
	readonly links: Link[] = [];
	/** The marks of what is remembered of a person, by its name. */
	readonly memories = new Map<string, Set<string>>();
	/** Who said what has a mark. */
	readonly sayers = new Map<string, readonly Actor[]>();
	/** Ids of sessions by the name that somebody gave them. */
	readonly names = new Map<string, string>();
	/** How often something was done, and refused. */
	readonly counts = new Map<string, { ok: number; refused: number }>();
	/** How many sessions there were. */
	made = 0;
	/** What was done in this step, for the message of a failure. */
	readonly said: string[] = [];
	/** How far the clock of the Worker is ahead, in milliseconds. */
	ahead = 0;
	readonly #byId = new Map<string, Session>();
	readonly #request: Awaited<ReturnType<typeof createWorld>>['request'];

	constructor(seed: number, { people, request }: Awaited<ReturnType<typeof createWorld>>) {
		this.random = createRandom(seed);
		this.people = people;
		this.#request = request;
		const operator = people.find((one) => isOperator(one) && one.scopes.includes('run'));
		if (operator === undefined) throw new Error('There is no operator.');
		this.operator = operator;
	}

	chance(percent: number): boolean {
		return this.random(1, 100) <= percent;
	}

	pick<T>(list: readonly T[]): T | undefined {
		return list[this.random(0, Math.max(0, list.length - 1))];
	}

	pickByWeight<T extends { readonly weight: number }>(list: readonly T[]): T {
		let place = this.random(
			1,
			list.reduce((sum, { weight }) => sum + weight, 0),
		);
		for (const one of list) {
			place -= one.weight;
			if (place <= 0) return one;
		}
		throw new Error('There is nothing to choose from.');
	}

	choose<T>(...list: readonly [T, ...T[]]): T {
		return list[this.random(0, list.length - 1)] ?? list[0];
	}

	fail(what: string): never {
		throw new Broken(what);
	}

	check(isTrue: boolean, what: string): void {
		if (!isTrue) this.fail(what);
	}

	/** Asks the Worker. No answer may have a mark of somebody whom the caller may not see. */
	async ask(caller: Caller, path: string, asking: Asking = {}): Promise<Answer> {
		const { method = asking.body === undefined ? 'GET' : 'POST', body, headers, isForOperators = false, only } = asking;
		const isText = typeof body === 'string';
		this.said.push(
			`${method} ${path} ${isText ? body.slice(0, 300) : (JSON.stringify(body) ?? '')} as ${describe(caller)}`,
		);
		const type = isText ? 'text/plain' : 'application/json';
		const response = await this.#request(path, {
			method,
			headers: { ...(body !== undefined && { 'content-type': type }), ...caller.headers, ...headers },
			...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
		});
		const text = new TextDecoder().decode(await response.arrayBuffer());
		this.said.push(`  ${response.status} ${text.slice(0, 400)}`);
		for (const name of listNames(text + [...response.headers.values()].join('\n'))) {
			this.check(
				maySee(caller, name, isForOperators),
				`The answer shows ${describe(caller)} a text of ${name}: ${text}`,
			);
			this.check(
				only === undefined || name === toName(only),
				`The answer about one person shows a text of ${name}: ${text}`,
			);
		}
		return { status: response.status, text, headers: response.headers, json: () => JSON.parse(text) };
	}

	/** Holds the status of an answer against what had to come of it. */
	expect(way: string, { status, text }: Answer, outcome: Outcome | number): void {
		const isRight = outcome === 'ok' ? status >= 200 && status < 300 : status === outcome;
		this.check(isRight, `${way}: answered ${status} in place of ${outcome}: ${text.slice(0, 600)}`);
		this.count(way, outcome === 'ok');
	}

	count(way: string, isOk: boolean): void {
		const count = this.counts.get(way) ?? { ok: 0, refused: 0 };
		this.counts.set(way, count);
		if (isOk) count.ok++;
		else count.refused++;
	}

	/** Chooses who asks: somebody with a key or a login, with a token, or nobody. */
	pickCaller(): Caller {
		const chance = this.random(1, 100);
		if (chance <= 4) return this.#makeStranger();
		if (chance <= 24 && this.tokens.length > 0) return this.#makeTokenCaller();
		return this.pickPerson();
	}

	pickPerson(fits: (one: PersonCaller) => boolean = () => true): PersonCaller {
		const isOperatorMeant = this.chance(3);
		const fitting = this.people.filter((one) => fits(one) && isOperator(one) === isOperatorMeant);
		return this.pick(fitting) ?? this.pick(this.people.filter(fits)) ?? this.operator;
	}

	/** Lists those who may have business in a session: the people of its owner, operators, and whoever has a token of it. */
	listCallers(session: Session): readonly Caller[] {
		const people = this.people.filter((one) => one.owner === session.owner || isOperator(one));
		return [...people, ...this.tokens.filter((one) => one.session === session).map((one) => toCaller(one, false))];
	}

	#makeStranger(): Caller {
		const { text = '' } = this.pick(this.tokens) ?? {};
		const key = `rl_${'0'.repeat(16)}_${'A'.repeat(43)}`;
		const headers = this.choose<Record<string, string>>(
			{},
			{ authorization: `Bearer ${key}` },
			{ authorization: 'Bearer something' },
			{ authorization: `Bearer ${text.slice(0, 40)}` },
			{ cookie: 'theme=dark' },
		);
		return { kind: 'stranger', headers };
	}

	#makeTokenCaller(): Caller {
		const alive = this.tokens.filter(({ session, isRevoked }) => !session.isGone && !isRevoked);
		const token = (this.chance(85) ? this.pick(alive) : undefined) ?? this.pick(this.tokens);
		if (token === undefined) return this.#makeStranger();
		return toCaller(token, this.chance(8));
	}

	/**
	 * Chooses a session for somebody: often their own, else that of a colleague, of another owner, or none. Mostly it is one
	 * that is as it has to be for what they try, whether they may or not.
	 */
	pickTarget(caller: Caller, isRight: (one: Session) => boolean = () => true): Target {
		const alive = this.sessions.filter(({ isGone }) => !isGone);
		const right = this.chance(85) ? alive.filter(isRight) : alive;
		const chance = this.random(1, 100);
		if (chance > 97) return { id: env.SESSIONS.newUniqueId().toString() };
		const { owner, user } = caller.kind === 'person' ? caller : { owner: '', user: undefined };
		const isMine = (one: Session) =>
			caller.kind === 'token' ? one === caller.token.session : one.owner === owner && one.user === user;
		const isNear = (one: Session) => !isMine(one) && (caller.kind !== 'person' || one.owner === owner);
		const isFar = (one: Session) => one.owner !== owner;
		const fits = chance <= 50 ? isMine : chance <= 75 ? isNear : isFar;
		const session =
			chance > 93 ? this.pick(this.sessions) : (this.pick(right.filter(fits)) ?? this.pick(right) ?? this.pick(alive));
		return session === undefined ? { id: env.SESSIONS.newUniqueId().toString() } : this.toTarget(session);
	}

	/** Names a session, or whatever is there now in its place. */
	toTarget({ id }: Session): Target {
		return { id, session: this.#byId.get(id) };
	}

	find(id: string): Session | undefined {
		return this.#byId.get(id);
	}

	/** Adds a session that somebody has made. An earlier one under its id is gone. */
	add(session: Session): Session {
		const before = this.#byId.get(session.id);
		this.check(before === undefined || before.isGone, `The new session ${session.id} is one that is there`);
		this.made++;
		this.sessions.push(session);
		this.#byId.set(session.id, session);
		return session;
	}

	/** Notes that a session is gone, with those that work for it. */
	drop(session: Session): void {
		session.isGone = true;
		for (const one of this.sessions) if (one.parent === session) one.isGone = true;
	}

	/** Forgets what is gone, but for a few. */
	forget(): void {
		const gone = this.sessions.filter(({ isGone }) => isGone);
		for (const one of gone.slice(0, -20)) this.sessions.splice(this.sessions.indexOf(one), 1);
		const dead = this.tokens.filter(({ session, isRevoked }) => session.isGone || isRevoked);
		for (const one of dead.slice(0, -20)) this.tokens.splice(this.tokens.indexOf(one), 1);
		this.links.splice(0, this.links.length - 60);
	}

	/** Makes a text of a person, with a mark. */
	mark(person: Person | undefined): string {
		return makeMark(person);
	}

	/** Reads a session as an operator, and holds it against what is known. */
	async look(session: Session): Promise<State> {
		const answer = await this.ask(this.operator, `/v1/sessions/${session.id}`, { isForOperators: true });
		this.check(answer.status === 200, `The session ${session.id} is not there: ${answer.text}`);
		const state = answer.json<State>();
		const { owner, user, agent, metadata = {} } = state;
		const isSame = owner === session.owner && user === session.user && agent === session.agent;
		this.check(isSame, `${session.id} belongs to ${owner}/${user} (${agent}), not to ${toName(session)}`);
		this.check(isEqual(metadata, session.metadata), `${session.id} has the metadata ${JSON.stringify(metadata)}`);
		this.check(state.parent?.id === session.parent?.id, `${session.id} works for ${state.parent?.id}`);
		session.status = state.status;
		session.calls = state.toolCalls ?? [];
		session.question = state.question;
		for (const child of state.children ?? []) this.#addChild(session, child);
		return state;
	}

	#addChild(parent: Session, { id, agent, background: isBackground = false }: StateOfChild): void {
		if (this.#byId.has(id)) return;
		const { owner, user, metadata, createdBy, askedBy, askers } = parent;
		const about = { id, agent, owner, user, metadata, createdBy, askedBy, askers, parent, isBackground };
		this.add({ ...about, isGone: false, status: 'running', calls: [], length: 2, naps: new Map() });
	}

	/** Waits until nothing goes on in a session and in those that work for it. */
	async settle(session: Session): Promise<void> {
		for (let tries = 0; ; tries++) {
			const { status, children = [], waiting = 0 } = await this.look(session);
			let isBusy = status === 'running' || (waiting > 0 && !status.startsWith('awaiting'));
			for (const { id, spent } of children) {
				const child = this.#byId.get(id);
				if (child === undefined || child.isGone || (spent !== undefined && isIdle(child))) continue;
				const state = await this.look(child);
				isBusy ||= child.isBackground === true && spent === undefined && !state.status.startsWith('awaiting');
			}
			if (!isBusy) return;
			if (tries > 400) this.fail(`${session.id} does not come to rest: ${status}`);
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	}

	/** Ends the object of a session like a crash: what is stored stays, what is remembered is lost. */
	async restart(): Promise<boolean> {
		const session = this.pick(this.sessions.filter(({ isGone }) => !isGone));
		if (session === undefined) return false;
		await restart(session.id);
		// A request that reaches it while it dies may be lost.
		await this.look(session);
		this.count('restart an object', true);
		return true;
	}

	/** What a session is, to see whether somebody has changed it. */
	async peek({ id }: Target): Promise<string> {
		const look = (path: string) => this.ask(this.operator, `/v1/sessions/${id}${path}`, { isForOperators: true });
		const [state, messages, files] = [await look(''), await look('/messages?order=desc&limit=3'), await look('/files')];
		return [state, messages, files].map(({ status, text }) => `${status} ${text}`).join('\n');
	}

	/** Holds what tools, models and policies were told since the last time against what is known. */
	async observe(): Promise<{ readonly tools: readonly Told[]; readonly models: readonly Told[] }> {
		const { tools, models, policies, skills } = takeSeen();
		const sessions = new Set<Session>();
		for (const told of [...tools, ...models, ...policies]) {
			const session = await this.#findTold(told);
			sessions.add(session);
			const whose = toName(session);
			const facts = `${told.what} in ${session.id}`;
			const isWhose = told.owner === session.owner && told.user === session.user;
			this.check(isWhose, `${facts} of ${whose} was told ${told.owner}/${told.user}`);
			for (const mark of told.marks)
				this.check(mark.slice(3, 8) === whose, `${facts} of ${whose} was given ${mark}, the text of somebody else`);
			this.check(isExpected(told.error, session), `${facts}: ${told.error}`);
			const isSame = isEqual(told.metadata ?? {}, session.metadata);
			this.check(isSame, `${facts} was told the metadata ${JSON.stringify(told.metadata)}`);
			const isAsker = policies.some((one) => one === told) || isEqual(told.askedBy, session.askedBy);
			const said = `${facts}: asked by ${JSON.stringify(told.askedBy)}`;
			this.check(isAsker, `${said} in place of ${JSON.stringify(session.askedBy)}`);
		}
		for (const { what, by, askers, sessionId = '' } of policies) {
			const session = this.#byId.get(sessionId);
			if (session === undefined) continue;
			const missing = session.askers.filter((asker) => !askers.some((one) => isEqual(one, asker)));
			const told = `The policy of ${what} was told of ${JSON.stringify(askers)}`;
			this.check(missing.length === 0, `${told}, and not of ${JSON.stringify(missing)}`);
			const isTheirs = [by, ...askers].every(({ owner }) => owner === session.owner);
			this.check(isTheirs, `The policy of ${what} was told of another owner: ${JSON.stringify([by, askers])}`);
		}
		for (const told of skills) {
			const { askedBy } = told;
			const isTold = ({ owner, user }: Person) => told.owner === owner && told.user === user;
			// A client of MCP is served the skills of whoever calls.
			const isKnown = [...sessions].some(isTold) || (askedBy?.via === 'mcp' && isTold(askedBy));
			const isOwners = told.what === `skills of ${told.owner}` && (askedBy?.owner ?? told.owner) === told.owner;
			this.check(isOwners && (isKnown || sessions.size === 0), `The resolver was told ${JSON.stringify(told)}`);
		}
		return { tools, models };
	}

	async #findTold({ sessionId = '', what }: Told): Promise<Session> {
		const known = this.#byId.get(sessionId);
		if (known !== undefined) return known;
		const answer = await this.ask(this.operator, `/v1/sessions/${sessionId}`, { isForOperators: true });
		const parent = this.#byId.get(answer.status === 200 ? (answer.json<State>().parent?.id ?? '') : '');
		if (parent !== undefined) await this.look(parent);
		return this.#byId.get(sessionId) ?? this.fail(`${what} ran in ${sessionId}, which nobody has made: ${answer.text}`);
	}
}

/** Whether a call may have failed so: somebody has said no, or nothing is remembered of nobody. */
function isExpected(error: string | undefined, session: Session): boolean {
	if (error === undefined || error.startsWith('A person did not allow')) return true;
	return error.startsWith('There is no tool named remember') && !remembers(session);
}

/** Makes the caller who has a token, as it is or with another signature. */
export function toCaller(token: Token, isForged: boolean): TokenCaller {
	const text = isForged ? forge(token.text) : token.text;
	return { kind: 'token', token, isForged, headers: { authorization: `Bearer ${text}` } };
}

/** Changes a sign in the middle of what signs a token or a link, so that it has the same form. */
export function forge(text: string): string {
	const at = text.length - 20;
	return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

/** Whether two values are the same JSON, whatever the order of their fields. */
function isEqual(one: unknown, other: unknown): boolean {
	return toText(one) === toText(other);
}

function toText(value: unknown): string {
	return (
		JSON.stringify(value, (_, one) =>
			one !== null && typeof one === 'object' && !Array.isArray(one)
				? Object.fromEntries(Object.entries(one).sort())
				: one,
		) ?? ''
	);
}

function describe(caller: Caller): string {
	if (caller.kind === 'stranger') return `nobody (${JSON.stringify(caller.headers)})`;
	if (caller.kind === 'person') {
		const { actor, role, scopes } = caller;
		return `${toName(caller)}, ${role} by ${actor.via}${scopes.includes('admin') ? ' for all' : ''}`;
	}
	const { token, isForged } = caller;
	return `a ${isForged ? 'forged ' : ''}${token.isRevoked ? 'revoked ' : ''}token [${token.scopes}] of ${toName(token.session)} (${token.session.id.slice(0, 8)})`;
}
