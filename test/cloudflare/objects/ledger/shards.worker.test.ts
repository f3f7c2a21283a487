/** The ledger of a large owner, split into shards (docs/scale.md, "Shards"). */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type Amount, budgetState, nothing, plus } from '../../../../src/cloudflare/objects/budget.ts';
import type { Ledger } from '../../../../src/cloudflare/objects/ledger/object.ts';
import { eraseUser, listDays, listParts, nameLedger } from '../../../../src/cloudflare/objects/ledger/owner.ts';
import { LedgerStore } from '../../../../src/cloudflare/objects/ledger/store.ts';
import { setClock } from '../../../clock.ts';

afterEach(() => setClock());

const tokens = (count: number): Amount => ({ tokens: count, usd: 0 });

let owners = 0;

/** A new owner with its ledgers. */
function newOwner(count = 4) {
	const owner = `large-${owners++}`;
	const find = (name: string) => env.LEDGERS.get(env.LEDGERS.idFromName(name));
	const ledgers = { ledgers: env.LEDGERS, findShardCount: () => count };
	// The functions return new stubs, because a failed stub stays broken.
	return { owner, own: () => find(owner), shard: (n: number) => find(`${owner}\0${n}`), ledgers };
}

type Stub = DurableObjectStub<Ledger>;

async function kill(stub: Stub): Promise<void> {
	await runInDurableObject(stub, (_, ctx) => ctx.storage.sync().then(() => ctx.abort('restart'))).catch(() => {});
}

/** Fires the alarms of a shard until it has nothing to report. */
async function reportAll(stub: Stub): Promise<void> {
	while (await runDurableObjectAlarm(stub));
}

describe('a shard', () => {
	test('spends a share of the owner’s budget, and gives back what it does not need', async () => {
		const { own, shard } = newOwner();
		const limit = { tokens: 1_000 };
		expect(await shard(0).reserve({ id: 'a', amount: tokens(10), limit })).toEqual({ ok: true, amount: tokens(10) });
		const { reserved } = await own().state(limit);
		expect(reserved.tokens).toBeGreaterThan(10);
		expect(reserved.tokens).toBeLessThan(200);
		await shard(0).settle([{ id: 'a', amount: tokens(7) }]);
		await reportAll(shard(0));
		expect(await own().state(limit)).toEqual(budgetState(limit, tokens(7), nothing));
	});

	test('asks the owner’s ledger once for many leases', async () => {
		const { own, shard } = newOwner();
		const limit = { tokens: 1e9 };
		const lend = async (id: string) => {
			await shard(0).reserve({ id, amount: tokens(100), limit });
			await shard(0).settle([{ id, amount: tokens(100) }]);
		};
		for (let n = 0; n < 3; n++) await lend(`before ${n}`);
		await runDurableObjectAlarm(shard(0));
		const asked = await countAsked(own());
		for (let n = 0; n < 4; n++) await lend(`after ${n}`);
		expect(await countAsked(own())).toBe(asked);
	});

	test('refuses with the state of the owner’s budget, and reserves once others have given back', async () => {
		const { shard } = newOwner();
		const limit = { tokens: 100 };
		const ask = (id: string) => shard(1).reserve({ id, amount: tokens(40), limit });
		expect(await shard(0).reserve({ id: 'a', amount: tokens(80), limit })).toMatchObject({ ok: true });
		const refused = await ask('b');
		expect(refused).toMatchObject({ ok: false, scope: 'day', state: { limit, spent: nothing } });
		await shard(0).settle([{ id: 'a', amount: tokens(30) }]);
		await reportAll(shard(0));
		await evictDurableObject(shard(1));
		expect(await ask('c')).toMatchObject({ ok: true });
		expect(await shard(0).reserve({ id: 'd', amount: tokens(40), limit })).toMatchObject({
			ok: false,
			state: { spent: tokens(30) },
		});
	});

	test('knows the caps of a user, and what the user spent before the owner had shards', async () => {
		const { owner, own, ledgers } = newOwner();
		const caps = { total: { tokens: 100 } };
		await own().setUserCaps('kim', caps);
		await own().settle([{ id: 'a', amount: tokens(70), user: 'kim', agent: 'one' }]);
		const name = nameLedger(ledgers, { owner, user: 'kim', id: 'any' });
		const find = () => env.LEDGERS.get(env.LEDGERS.idFromName(name));
		expect(await find().reserve({ id: 'b', amount: tokens(40), limit: {}, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'user-total',
			state: { spent: tokens(70) },
		});
		await evictDurableObject(find());
		expect(await find().reserve({ id: 'c', amount: tokens(20), limit: {}, user: 'kim' })).toMatchObject({ ok: true });
		await find().settle([{ id: 'c', amount: tokens(20), user: 'kim', agent: 'two' }]);
		expect(await find().userState('kim')).toMatchObject({ caps, total: { spent: tokens(90) } });
		expect(await listDays(ledgers, { owner, user: 'kim' }, 2)).toMatchObject([{ spent: tokens(90) }]);
		await find().setUserCaps('kim', {});
		await evictDurableObject(find());
		expect((await find().userState('kim')).caps).toEqual({});
	});
});

/** Counts the shares that an owner's ledger granted. */
function countAsked(own: Stub): Promise<number> {
	return runInDurableObject(
		own,
		(_, { storage }) => storage.sql.exec<{ n: number }>('SELECT SUM(n) AS n FROM share').one().n,
	);
}

test('the spending of a large owner is the sum of its ledgers, and a user is erased in all of them', async () => {
	const { owner, own, shard, ledgers } = newOwner(2);
	setClock('2026-03-01T12:00:00Z');
	const spend = (stub: Stub, id: string, user: string) =>
		stub.settle([{ id, amount: tokens(10), user, agent: 'writer' }]);
	await spend(own(), 'a', 'kim');
	await spend(shard(0), 'b', 'kim');
	await spend(shard(1), 'c', 'kim');
	setClock('2026-03-02T12:00:00Z');
	await spend(shard(1), 'd', 'lee');
	expect(await listDays(ledgers, { owner }, 3)).toEqual([
		{ day: '2026-03-02', spent: tokens(10), reserved: nothing },
		{ day: '2026-03-01', spent: tokens(30), reserved: nothing },
	]);
	const byAgent = { by: ['agent'], count: 3 } as const;
	expect(await listParts(ledgers, { owner }, byAgent)).toMatchObject([
		{ day: '2026-03-02', agent: 'writer', tokens: 10 },
		{ day: '2026-03-01', agent: 'writer', tokens: 30 },
	]);
	const name = nameLedger(ledgers, { owner, user: 'lee' });
	await spend(env.LEDGERS.get(env.LEDGERS.idFromName(name)), 'e', 'lee');
	await eraseUser(ledgers, { owner, user: 'lee' });
	const names = (await listParts(ledgers, { owner }, { by: ['user'], count: 1 })).map(({ user }) => user);
	expect(names).toContain('*');
});

const shardCount = 4;
const cap = { tokens: 2_000 };
const happening = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({
			kind: fc.constantFrom('reserve' as const, 'settle' as const),
			shard: fc.nat(shardCount - 1),
			id: fc.nat(30),
			tokens: fc.integer({ min: 1, max: 300 }),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant('report' as const), shard: fc.nat(shardCount - 1) }) },
	{
		weight: 2,
		arbitrary: fc.record({ kind: fc.constantFrom('evict' as const, 'kill' as const), shard: fc.nat(shardCount) }),
	},
);

test('shards never spend more than the owner’s budget together, whatever is killed, and at the end nothing is set aside', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(happening, { minLength: 20, maxLength: 80 }), async (happenings) => {
			const { own, shard } = newOwner();
			const open = new Map<string, { readonly shard: number; readonly tokens: number }>();
			let spent = 0;
			for (const what of happenings) {
				if (what.kind === 'reserve') {
					const id = `${what.shard} ${what.id}`;
					const { ok } = await shard(what.shard).reserve({ id, amount: tokens(what.tokens), limit: cap });
					if (ok && !open.has(id)) open.set(id, what);
				} else if (what.kind === 'settle') {
					const id = `${what.shard} ${what.id}`;
					const lease = open.get(id);
					if (lease === undefined || lease.tokens < 0) continue;
					const cost = Math.min(what.tokens, lease.tokens);
					await shard(what.shard).settle([{ id, amount: tokens(cost) }]);
					spent += cost;
					open.set(id, { ...lease, tokens: -1 });
				} else if (what.kind === 'report') await runDurableObjectAlarm(shard(what.shard));
				else {
					const stub = what.shard === shardCount ? own() : shard(what.shard);
					await stub.state(cap);
					await (what.kind === 'kill' ? kill(stub) : evictDurableObject(stub));
				}
				const held = [...open.values()].reduce((sum, lease) => sum + Math.max(0, lease.tokens), 0);
				expect(spent + held).toBeLessThanOrEqual(cap.tokens);
				const { spent: known, reserved } = await own().state(cap);
				expect(spent + held).toBeLessThanOrEqual(plus(known, reserved).tokens);
			}
			for (const [id, lease] of open) if (lease.tokens > 0) await shard(lease.shard).settle([{ id, amount: nothing }]);
			for (let n = 0; n < shardCount; n++) await reportAll(shard(n));
			expect(await own().state(cap)).toEqual(budgetState(cap, tokens(spent), nothing));
		}),
		{ numRuns: 10 },
	);
});

test('a late or repeated report of a shard changes nothing', async () => {
	await runInDurableObject(newOwner().own(), (_, { storage }) => {
		const store = new LedgerStore(storage);
		const limit = { tokens: 100 };
		const report = (n: number, spent: number, wanted: number) =>
			store.share(1_000, {
				...{ shard: 'acme 1', day: 1_000, n, spent: tokens(spent), reserved: nothing, limit },
				...{ needed: tokens(wanted), wanted: tokens(wanted) },
			});
		const newest = report(2, 20, 30);
		expect(newest).toMatchObject({ n: 2, granted: tokens(50) });
		expect(report(2, 20, 30)).toEqual(newest);
		expect(report(1, 0, 90)).toEqual(newest);
		expect(store.state(1_000, limit)).toEqual(budgetState(limit, tokens(20), tokens(30)));
	});
});
