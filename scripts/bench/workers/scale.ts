/** Objects of a large owner, beside an object that only counts. Each request repeats one call of an object. */
import { DurableObject } from 'cloudflare:workers';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import type { LeaseRequest } from '../../../src/cloudflare/objects/ledger/api.ts';
import { createRunlet, type ObjectClass } from '../../../src/cloudflare/runlet/index.ts';

import { model } from './tool.ts';

type Env = ConstructorParameters<ObjectClass>[1];

const agents = [defineAgent({ name: 'bench', description: 'Does nothing.', model })];
const runlet = createRunlet({ agents, skills: { listFn: () => [], readFn: () => undefined } });

export const { Session, Ledger } = runlet;

/** A directory that can be filled: ten sessions and waiting calls at each time, with frequent and rare agents. */
export class Directory extends runlet.Directory {
	fill(rows: number): void {
		const { sql } = this.ctx.storage;
		const agent = "CASE WHEN n % 1000 = 7 THEN 'rare' ELSE 'assistant' END";
		const each = `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${rows})`;
		sql.exec(
			`${each} INSERT INTO session (id, agent, created_at, active_at, state, user)
			SELECT printf('s%09d', n), ${agent}, 1, n / 10, CASE WHEN n % 5 = 1 THEN 1 ELSE 0 END, 'user-' || (n % 97)
			FROM number`,
		);
		sql.exec(
			`${each} INSERT INTO waiting (session, place, kind, since, agent, user, call)
			SELECT printf('s%09d', n), 0, 'approval', n / 10, ${agent}, 'user-' || (n % 97), '{"callId":"c","place":0}'
			FROM number WHERE n <= 10000`,
		);
	}
}

/** The object beside which others are measured. */
export class Counter extends DurableObject<Env> {
	#count = 0;

	add(): number {
		return ++this.#count;
	}
}

interface Namespace<T> {
	readonly idFromName: (name: string) => DurableObjectId;
	readonly get: (id: DurableObjectId) => T;
}

interface Objects {
	readonly COUNTERS: Namespace<{ add(): Promise<number> }>;
	readonly DIRECTORIES: Namespace<{
		fill(rows: number): Promise<void>;
		list(query: object): Promise<unknown>;
		listWaiting(query: object): Promise<unknown>;
		touch(report: object): Promise<unknown>;
	}>;
	readonly LEDGERS: Namespace<{
		reserve(request: LeaseRequest): Promise<unknown>;
		settle(costs: readonly object[]): Promise<void>;
	}>;
}

const limit = { tokens: 1_000_000_000 };
const amount = { tokens: 100, usd: 0.001 };
let leases = 0;

const calls: Readonly<Record<string, (env: Objects, name: string) => Promise<unknown>>> = {
	counter: ({ COUNTERS }, name) => COUNTERS.get(COUNTERS.idFromName(name)).add(),
	newest: ({ DIRECTORIES }, name) => DIRECTORIES.get(DIRECTORIES.idFromName(name)).list({ limit: 50 }),
	agent: ({ DIRECTORIES }, name) =>
		DIRECTORIES.get(DIRECTORIES.idFromName(name)).list({ limit: 50, agent: 'rare', user: 'user-7' }),
	nobody: ({ DIRECTORIES }, name) => DIRECTORIES.get(DIRECTORIES.idFromName(name)).list({ limit: 50, agent: 'gone' }),
	waiting: ({ DIRECTORIES }, name) => DIRECTORIES.get(DIRECTORIES.idFromName(name)).listWaiting({ limit: 50 }),
	touch: ({ DIRECTORIES }, name) =>
		DIRECTORIES.get(DIRECTORIES.idFromName(name)).touch({
			...{ id: `new-${++leases}`, agent: 'assistant', createdAt: 1, activeAt: Date.now() },
		}),
	turn: async ({ LEDGERS }, name) => {
		const ledger = LEDGERS.get(LEDGERS.idFromName(name));
		const id = `lease-${++leases}`;
		await ledger.reserve({ id, amount, limit });
		await ledger.settle([{ id, amount }]);
	},
};

export default {
	async fetch(request: Request, env: Objects): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		const name = searchParams.get('name') ?? 'one';
		const times = Number(searchParams.get('times'));
		if (pathname === '/fill') await env.DIRECTORIES.get(env.DIRECTORIES.idFromName(name)).fill(times);
		const call = calls[pathname.slice(1)];
		for (let n = 0; n < times && call !== undefined; n++) await call(env, name);
		return new Response('done');
	},
};
