/**
 * A model of the objects of an owner in virtual time (docs/scale.md, "Simulation"). The ledgers decide with Runlet's own
 * code; an object does one call after another, and each takes the time that was measured.
 */

import type { Amount } from '../../src/cloudflare/objects/budget.ts';
import type { LedgerApi } from '../../src/cloudflare/objects/ledger/api.ts';
import { toDay } from '../../src/cloudflare/objects/ledger/api.ts';
import { Shard } from '../../src/cloudflare/objects/ledger/shard.ts';
import { LedgerStore } from '../../src/cloudflare/objects/ledger/store.ts';
import { nameShard } from '../../src/cloudflare/objects/shards.ts';
import { createRandom, type Random } from '../../test/endurance/random.ts';
import { createStorage } from './storage.ts';

/** Milliseconds of an object for a call. */
export interface ServiceTimes {
	/** A call of a ledger: a reservation or a settlement. */
	readonly ledger: number;
	/** A report of a session to a directory. */
	readonly directory: number;
}

export interface World {
	readonly owners: number;
	readonly users: number;
	/** New runs a second of all owners. */
	readonly rate: number;
	readonly seconds: number;
	/** The number of shards of each owner. */
	readonly shards: number;
	readonly service: ServiceTimes;
	readonly seed: number;
}

/** Milliseconds from the reservation to the settlement of a run. */
const runMs = 8_000;
/** A run reserves for its longest reply, and spends less. */
const [reserved, spent]: readonly [Amount, Amount] = [
	{ tokens: 20_000, usd: 0 },
	{ tokens: 2_000, usd: 0 },
];
const limit = { tokens: 1e12 };
/** Milliseconds between two reports of a shard. */
const reportMs = 5_000;

/** An object that does one call after another. */
export class Queue {
	#freeAt = 0;
	busyMs = 0;
	calls = 0;
	readonly waits: number[] = [];

	/** Returns when a call ends that arrives at `at`. */
	serve(at: number, ms: number): number {
		const begin = Math.max(at, this.#freeAt);
		this.waits.push(begin - at);
		this.#freeAt = begin + ms;
		this.busyMs += ms;
		this.calls++;
		return this.#freeAt;
	}
}

export interface Kind {
	readonly objects: number;
	readonly calls: number;
	/** The part of the time in which the busiest object works. */
	readonly busiest: number;
	/** How long calls wait before their object begins with them, in milliseconds. */
	readonly waitP50: number;
	readonly waitP99: number;
}

export interface Outcome {
	readonly runs: number;
	readonly refused: number;
	readonly kinds: Readonly<Record<'ledger of an owner' | 'shard of a ledger' | 'directory', Kind>>;
	/** The amount that is set aside at the owners' ledgers once all shards have reported. */
	readonly setAside: number;
}

/** Simulates the runs of owners. The same world has the same outcome. */
export async function simulate(world: World): Promise<Outcome> {
	const random = createRandom(world.seed);
	const clock = { now: Date.parse('2026-01-01T00:00:00Z') };
	const real = Date.now;
	Date.now = () => clock.now;
	try {
		const owners = Array.from({ length: world.owners }, (_, n) => new Owner(`owner-${n}`, world, clock));
		return await play(world, { owners, random, clock });
	} finally {
		Date.now = real;
	}
}

interface Clock {
	now: number;
}

interface Ledger {
	readonly queue: Queue;
	readonly store: LedgerStore;
	/** Missing for an owner's own ledger. */
	readonly shard?: Shard;
}

/** The objects of an owner. An object exists from its first call on. */
class Owner {
	readonly own: Ledger = { queue: new Queue(), store: new LedgerStore(createStorage()) };
	readonly ledgers = new Map<string, Ledger>();
	readonly directories = new Map<string, Queue>();
	readonly #name: string;
	readonly #world: World;
	readonly #clock: Clock;

	constructor(name: string, world: World, clock: Clock) {
		this.#name = name;
		this.#world = world;
		this.#clock = clock;
	}

	/** Begins a run of a user. Returns its ledger, or nothing if the budget refuses it. */
	async begin(id: string, user: string): Promise<Ledger | undefined> {
		const name = nameShard(this.#name, this.#world.shards, user);
		this.#serve(this.#findDirectory(name), this.#world.service.directory);
		const ledger = this.#findLedger(name);
		this.#serve(ledger.queue, this.#world.service.ledger);
		const request = { id, amount: reserved, limit };
		const today = toDay(this.#clock.now);
		const answer = await (ledger.shard?.reserve(today, request, []) ?? ledger.store.reserve(today, request));
		return answer.ok ? ledger : undefined;
	}

	end(id: string, { queue, store }: Ledger): void {
		this.#serve(queue, this.#world.service.ledger);
		store.settle(toDay(this.#clock.now), [{ id, amount: spent }]);
	}

	async report(): Promise<void> {
		for (const { shard } of this.ledgers.values()) await shard?.report(toDay(this.#clock.now));
	}

	setAside(): number {
		return this.own.store.state(toDay(this.#clock.now), limit).reserved.tokens;
	}

	#serve(queue: Queue, ms: number): void {
		queue.serve(this.#clock.now, ms);
	}

	#findDirectory(name: string): Queue {
		const found = this.directories.get(name) ?? new Queue();
		this.directories.set(name, found);
		return found;
	}

	#findLedger(name: string): Ledger {
		if (name === this.#name) return this.own;
		const found = this.ledgers.get(name) ?? this.#createShard(name);
		this.ledgers.set(name, found);
		return found;
	}

	#createShard(name: string): Ledger {
		const store = new LedgerStore(createStorage());
		const { own } = this;
		const ask = <T>(work: () => T): Promise<T> => {
			this.#serve(own.queue, this.#world.service.ledger);
			return Promise.resolve(work());
		};
		const today = () => toDay(this.#clock.now);
		const never = (): Promise<never> => Promise.reject(new Error('A shard does not call this.'));
		const ledger: LedgerApi = {
			share: (request) => ask(() => own.store.share(today(), request)),
			findOpening: (user) => ask(() => own.store.users.findOpening(user, today())),
			...{ reserve: never, settle: never, state: never, days: never, userState: never, setUserCaps: never },
			...{ userDays: never, parts: never, eraseUser: never },
		};
		return { queue: new Queue(), store, shard: new Shard({ name, store, findOwnersLedger: () => ledger }) };
	}
}

async function play(
	world: World,
	{ owners, random, clock }: { readonly owners: readonly Owner[]; readonly random: Random; readonly clock: Clock },
): Promise<Outcome> {
	const begun = clock.now;
	const count = world.rate * world.seconds;
	const open: { readonly at: number; readonly end: () => void }[] = [];
	let ended = 0;
	let reportAt = begun + reportMs;
	let refused = 0;
	/** Plays what is due until a moment, in the order of time. */
	const playUntil = async (moment: number): Promise<void> => {
		for (;;) {
			const settleAt = open[ended]?.at ?? Infinity;
			const next = Math.min(settleAt, reportAt);
			if (next > moment) break;
			clock.now = next;
			if (settleAt <= reportAt) open[ended++]?.end();
			else {
				for (const owner of owners) await owner.report();
				reportAt += reportMs;
			}
		}
		clock.now = moment;
	};
	for (let n = 0; n < count; n++) {
		await playUntil(begun + (1_000 * n + random(0, 999)) / world.rate);
		const owner = owners[random(0, owners.length - 1)];
		const id = `run ${n}`;
		const ledger = await owner?.begin(id, `user ${random(1, world.users)}`);
		if (ledger === undefined) refused++;
		else open.push({ at: clock.now + runMs, end: () => owner?.end(id, ledger) });
	}
	const endedAt = clock.now;
	await playUntil(endedAt + runMs + 3 * reportMs);
	const setAside = owners.reduce((sum, owner) => sum + owner.setAside(), 0);
	const elapsed = endedAt - begun + runMs;
	const kinds = {
		'ledger of an owner': toKind(
			owners.map(({ own }) => own.queue),
			elapsed,
		),
		'shard of a ledger': toKind(
			owners.flatMap(({ ledgers }) => [...ledgers.values()].map(({ queue }) => queue)),
			elapsed,
		),
		directory: toKind(
			owners.flatMap(({ directories }) => [...directories.values()]),
			elapsed,
		),
	};
	return { runs: count, refused, kinds, setAside };
}

function toKind(queues: readonly Queue[], elapsedMs: number): Kind {
	const waits = queues.flatMap((queue) => queue.waits).sort((a, b) => a - b);
	const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
	return {
		objects: queues.filter(({ calls }) => calls > 0).length,
		calls: queues.reduce((sum, { calls }) => sum + calls, 0),
		busiest: Math.max(0, ...queues.map(({ busyMs }) => busyMs)) / elapsedMs,
		...{ waitP50: at(0.5), waitP99: at(0.99) },
	};
}

/** How many sessions an object wakes at once. */
const wokenAtOnce = 50;

/** Returns how long after its time the last of many schedules wakes that are due at the same moment. */
export function estimateWakes({ schedules, shards, wakeMs }: Wakes): { readonly lastMs: number } {
	const counts = new Map<string, number>();
	for (let n = 0; n < schedules; n++) {
		const name = nameShard('owner', shards, `schedule ${n}`);
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	const batches = Math.ceil(Math.max(...counts.values()) / wokenAtOnce);
	return { lastMs: batches * wokenAtOnce * wakeMs };
}

interface Wakes {
	readonly schedules: number;
	readonly shards: number;
	/** Milliseconds of an object to wake a session. */
	readonly wakeMs: number;
}
