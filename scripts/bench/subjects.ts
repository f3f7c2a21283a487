import { randomUUID } from 'node:crypto';
import { createKey, formatKeys } from '../../src/cloudflare/auth/key.ts';
import { type Plan, writePlan } from './plan.ts';
import { type Asking, type Reading, readRun } from './reading.ts';
import type { Bindings } from './workerd.ts';

/** A conversation: each plan is a message that starts a run. */
export type Conversation = (plan: Plan) => Promise<Reading>;

/** A measured Worker, and how to talk to it. */
export interface Subject {
	readonly name: string;
	readonly entry: string;
	readonly bind: (modelUrl: string) => Bindings;
	/** Begins a conversation, without a message. */
	readonly begin: (url: string) => Promise<Conversation>;
}

const { key, record } = await createKey({ owner: 'bench' });
/** The headers of a request to a session. */
export const authorization = `Bearer ${key}`;
export const stream = { accept: 'text/event-stream', authorization, 'content-type': 'application/json' };

const talk =
	(toAsking: (text: string) => Asking): Conversation =>
	(plan) =>
		readRun(toAsking(writePlan(plan)), plan);

/** The loop by hand. All other subjects are compared with it. */
export const plain: Subject = {
	name: 'hand-written loop',
	entry: 'scripts/bench/workers/plain.ts',
	bind: (MODEL_URL) => ({ texts: { MODEL_URL } }),
	begin: async (url) => talk((body) => ({ url, body })),
};

export const durable: Subject = {
	name: 'the same in a Durable Object',
	entry: 'scripts/bench/workers/durable.ts',
	bind: (MODEL_URL) => ({ texts: { MODEL_URL }, objects: { CONVERSATIONS: 'Conversation' } }),
	begin: async (url) => {
		const own = `${url}/${randomUUID()}`;
		return talk((body) => ({ url: own, body }));
	},
};

export const loop: Subject = { ...plain, name: 'Runlet loop', entry: 'scripts/bench/workers/loop.ts' };

/** Begins a session of an agent. The first message creates it. */
export function beginSession(agent: string): Subject['begin'] {
	return async (url) => {
		let messages: string | undefined;
		return async (plan) => {
			const body = JSON.stringify({ ...(messages === undefined && { agent }), text: writePlan(plan) });
			const reading = await readRun({ url: messages ?? `${url}/v1/sessions`, headers: stream, body }, plan);
			messages ??= new URL(`${reading.location}/messages`, url).href;
			return reading;
		};
	};
}

export const session: Subject = {
	name: 'Runlet session',
	entry: 'scripts/bench/workers/session.ts',
	bind: (modelUrl) => ({
		texts: {
			ANTHROPIC_API_KEY: 'bench',
			ANTHROPIC_BASE_URL: modelUrl,
			API_KEYS: formatKeys([record]),
			DAY_BUDGET_TOKENS: '1000000000',
		},
		objects: { SESSIONS: 'Session', LEDGERS: 'Ledger', DIRECTORIES: 'Directory' },
	}),
	begin: beginSession('bench'),
};

export const subjects: readonly Subject[] = [plain, durable, loop, session];
