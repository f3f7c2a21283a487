/** A part of the walk: an owner with users, caps and sessions, and the possible steps. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import type { Authenticate } from '../../../../src/cloudflare/auth/identity.ts';
import { type Config, readConfig } from '../../../../src/cloudflare/config/config.ts';
import type { Limit } from '../../../../src/cloudflare/objects/budget.ts';
import { createApp } from '../../../../src/cloudflare/routes/app.ts';
import { readObject } from '../../../client.ts';
import type { Random } from '../../../endurance/random.ts';
import { plugins, runtime } from '../../../worker.ts';
import { readRealTime, waitShortly } from './clock.ts';

/** A session of the walk. */
export interface Payer {
	readonly id: string;
	readonly label: string;
	readonly user: string | undefined;
	readonly agent: string;
	/** The session's newest cap. */
	cap: Limit;
	/** Whether the session died, was cancelled or had an error, so that its account may have estimates. */
	isDisturbed: boolean;
}

export interface World {
	readonly owner: string;
	readonly random: Random;
	readonly payers: Payer[];
	/** The caps of the owner's day, of a user's day, and of a user in total. */
	dayCap: Limit;
	readonly userCaps: Map<string, { daily?: Limit; total?: Limit }>;
}

/** The caps of owners' days. They replace the caps of keys. */
const dayCaps = new Map<string, Limit>();

const authenticate: Authenticate = (request) => {
	const [, account] = /\baccount=([\w%.-]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
	return account === undefined ? undefined : JSON.parse(decodeURIComponent(account));
};

const app = createApp({ ...runtime, authenticate }, plugins);
const bindings = { ...env, LOCAL: 'false', RATE_LIMITER: undefined };

/** Asks the Worker as the admin of an owner. Returns nothing if an object has died. */
export async function ask(
	owner: string,
	path: string,
	body?: unknown,
	method = body === undefined ? 'GET' : 'POST',
	headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly text: string } | undefined> {
	const account = encodeURIComponent(JSON.stringify({ owner, role: 'admin', scopes: ['run', 'admin'] }));
	try {
		const response = await app.request(
			path,
			{
				method,
				headers: { 'content-type': 'application/json', cookie: `account=${account}`, ...headers },
				...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
			},
			bindings,
		);
		return { status: response.status, text: await response.text() };
	} catch {
		return undefined;
	}
}

/** Applies the caps of the walk to owners' days. Returns a function that removes them again. */
export async function capDays(): Promise<() => void> {
	const one = env.SESSIONS.get(env.SESSIONS.newUniqueId());
	const own: Config[] = [readConfig(bindings)];
	await runInDurableObject(one, (object) => void own.push(readConfig(Reflect.get(object, 'env'))));
	const before = own.map((config) => Object.getOwnPropertyDescriptors(config));
	for (const config of own) Object.assign(config, { findDayBudget: (owner: string) => dayCaps.get(owner) ?? {} });
	return () => own.forEach((config, at) => void Object.defineProperties(config, before[at] ?? {}));
}

export function setDayCap(world: World, cap: Limit): void {
	world.dayCap = cap;
	dayCaps.set(world.owner, cap);
}

export async function setUserCaps(world: World, user: string, caps: { daily?: Limit; total?: Limit }): Promise<void> {
	world.userCaps.set(user, caps);
	await ask(world.owner, `/v1/users/${user}/budget`, caps, 'PUT');
}

/** Runs the alarm of a session's object, if the object did not die. */
export async function wake(id: string): Promise<void> {
	await runDurableObjectAlarm(readObject(id)).catch(() => false);
}

/** The ids of all sessions of the walk, and of their children. */
export async function listFamily({ owner, payers }: World): Promise<string[]> {
	const all: string[] = [];
	const open = payers.map(({ id }) => id);
	for (let id = open.pop(); id !== undefined; id = open.pop()) {
		all.push(id);
		open.push(...((await readSession(owner, id))?.children ?? []).map((child) => child.id));
	}
	return all;
}

interface Session {
	readonly status: string;
	readonly budget: {
		readonly limit: Limit;
		readonly spent: { readonly tokens: number; readonly usd: number };
		readonly reserved: { readonly tokens: number; readonly usd: number };
	};
	readonly children?: readonly { readonly id: string }[];
	readonly waiting?: number;
}

/** Reads a session, again after each death of its object. */
export async function readSession(owner: string, id: string): Promise<Session | undefined> {
	for (let tries = 0; tries < 50; tries++) {
		const answer = await ask(owner, `/v1/sessions/${id}`);
		if (answer?.status === 200) return JSON.parse(answer.text);
		if (answer?.status === 404) return undefined;
		await waitShortly(1);
	}
	throw new Error(`The session ${id} cannot be read`);
}

/** How long runs may take to end on a busy machine, in milliseconds of the real clock. */
const patienceMs = 100_000;

/** Waits until nothing runs. */
export async function settle(world: World): Promise<void> {
	let quiet = 0;
	const late = readRealTime() + patienceMs;
	for (let tries = 0; readRealTime() < late; tries++) {
		const all = await listFamily(world);
		const states = await Promise.all(all.map((id) => readSession(world.owner, id)));
		const isQuiet = states.every((one) => one === undefined || one.status !== 'running');
		quiet = isQuiet ? quiet + 1 : 0;
		// A background child reports by its alarm.
		for (const id of all) if (isQuiet || tries % 10 === 9) await wake(id);
		if (quiet > 2) return;
		await waitShortly(isQuiet ? 0 : 2);
	}
	const states = await Promise.all((await listFamily(world)).map((id) => readSession(world.owner, id)));
	throw new Error(`Runs of ${world.owner} do not end: ${JSON.stringify(states)}`);
}
