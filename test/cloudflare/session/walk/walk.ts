/** The walk: sends requests as somebody, compares the answers with the model, and checks the effects. */
import type { Actor } from '../../../../src/core/base/actor.ts';
import { createRandom, type Random } from '../../../endurance/random.ts';
import type { createWorld } from './callers.ts';
import { listNames, type Person, toName } from './persons.ts';
import {
	type Caller,
	isOperator,
	type Link,
	maySee,
	type Outcome,
	type PersonCaller,
	type Session,
	type Token,
} from './truth.ts';

/** A request of the walk. */
export interface Asking {
	readonly method?: string;
	/** The body. A text is sent unchanged, and any other value is sent as JSON. */
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether an operator may read the data of all owners with this request. */
	readonly isForOperators?: boolean;
	/** The only person whose marks may be in the answer. */
	readonly only?: Person;
}

export interface Answer {
	readonly status: number;
	readonly text: string;
	readonly headers: Headers;
	/** Returns the body as JSON. */
	json<T>(): T;
}

/** The target of a request: a session of the walk, or an unknown session. */
export interface Target {
	readonly id: string;
	readonly session?: Session;
}

/** The error for a broken promise of the documentation. */
class Broken extends Error {}

export class Walk {
	readonly random: Random;
	readonly people: readonly PersonCaller[];
	readonly operator: PersonCaller;
	readonly sessions: Session[] = [];
	readonly tokens: Token[] = [];
	readonly links: Link[] = [];
	/** The marks in the memory of a person, by name. */
	readonly memories = new Map<string, Set<string>>();
	/** The people who have sent a mark, by mark. */
	readonly sayers = new Map<string, readonly Actor[]>();
	/** The ids of sessions by the names that people gave them. */
	readonly names = new Map<string, string>();
	/** The numbers of accepted and refused steps. */
	readonly counts = new Map<string, { ok: number; refused: number }>();
	/** The number of created sessions. */
	made = 0;
	/** The requests of this step, for the message of a failure. */
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

	/** Asks the Worker. The answer may only have marks of people whom the caller may see. */
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

	/** Sends the request of another client. */
	fetch(request: Request): Promise<Response> {
		return this.#request(request);
	}

	/** Compares the status of an answer with the expected outcome. */
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

	/** Returns a session as a target. If another session has its id now, returns that session. */
	toTarget({ id }: Session): Target {
		return { id, session: this.#byId.get(id) };
	}

	find(id: string): Session | undefined {
		return this.#byId.get(id);
	}

	/** Adds a new session. It replaces an earlier session with its id. */
	add(session: Session): Session {
		const before = this.#byId.get(session.id);
		this.check(before === undefined || before.isGone, `The new session ${session.id} is one that is there`);
		this.made++;
		this.sessions.push(session);
		this.#byId.set(session.id, session);
		return session;
	}

	/** Removes a session and its children. */
	drop(session: Session): void {
		session.isGone = true;
		for (const one of this.sessions) if (one.parent === session) one.isGone = true;
	}

	/** Forgets most of the removed sessions. */
	forget(): void {
		const gone = this.sessions.filter(({ isGone }) => isGone);
		for (const one of gone.slice(0, -20)) this.sessions.splice(this.sessions.indexOf(one), 1);
		const dead = this.tokens.filter(({ session, isRevoked }) => session.isGone || isRevoked);
		for (const one of dead.slice(0, -20)) this.tokens.splice(this.tokens.indexOf(one), 1);
		this.links.splice(0, this.links.length - 60);
	}
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
