/** 10,000 runs over the 64 shards of a large owner, with kills and lost shards (docs/scale.md, "Shards"). */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { budgetState, nothing } from '../../../../src/cloudflare/objects/budget.ts';
import type { Ledger } from '../../../../src/cloudflare/objects/ledger/object.ts';
import { listShards, nameShard } from '../../../../src/cloudflare/objects/shards.ts';
import { createRandom, createSeed } from '../../../endurance/random.ts';

const [owner, count, runs, lanes] = ['crowded', 64, 10_000, 16];
const limit = { tokens: 3_000_000 };

const find = (name: string): DurableObjectStub<Ledger> => env.LEDGERS.get(env.LEDGERS.idFromName(name));

async function kill(name: string): Promise<void> {
	await runInDurableObject(find(name), (_, ctx) => ctx.storage.sync().then(() => ctx.abort('restart'))).catch(() => {});
}

/** Repeats a call of a ledger if it, or the owner's ledger, was killed meanwhile. The same lease counts once. */
async function call<T>(name: string, ask: (one: DurableObjectStub<Ledger>) => Promise<T>): Promise<T> {
	for (;;) {
		try {
			return await ask(find(name));
		} catch (error) {
			if (!/restart|cannot be reached/.test(String(error))) throw error;
		}
	}
}

test('10,000 runs over 64 shards never exceed the budget, with kills and lost shards', async () => {
	const seed = createSeed();
	const random = createRandom(seed);
	// The shards with these numbers are lost in the middle: nobody calls them any more.
	const lost = new Set([3, 17, 40].map((shard) => listShards(owner, count)[shard + 1] ?? ''));
	const bill = { spent: 0, held: 0, refused: 0 };
	let next = 0;
	const lane = async (): Promise<void> => {
		for (let n = next++; n < runs; n = next++) {
			const name = nameShard(owner, count, `user ${n}`);
			if (n > runs / 2 && lost.has(name)) continue;
			const id = `run ${n}`;
			const amount = { tokens: random(200, 1_000), usd: 0 };
			const ok = await call(name, async (one) => (await one.reserve({ id, amount, limit })).ok);
			if (!ok) {
				bill.refused++;
				continue;
			}
			bill.held += amount.tokens;
			expect(bill.spent + bill.held, `seed ${seed}`).toBeLessThanOrEqual(limit.tokens);
			if (random(1, 60) === 1) await kill(random(1, 4) === 1 ? owner : name);
			const cost = { tokens: random(100, amount.tokens), usd: 0 };
			await call(name, (one) => one.settle([{ id, amount: cost }]));
			bill.held -= amount.tokens;
			bill.spent += cost.tokens;
			if (random(1, 20) === 1) await call(name, runDurableObjectAlarm);
		}
	};
	await Promise.all(Array.from({ length: lanes }, lane));
	expect(bill.spent).toBeLessThanOrEqual(limit.tokens);
	expect(bill.refused).toBeGreaterThan(0);
	const report = async (names: readonly string[]): Promise<void> => {
		for (const name of names) {
			// The platform repeats an alarm that was killed. Here the next call plans the report again.
			await find(name).settle([]);
			while (await runDurableObjectAlarm(find(name)));
		}
	};
	const shards = listShards(owner, count).slice(1);
	await report(shards.filter((name) => !lost.has(name)));
	// What lost shards hold counts as reserved, until they are found again.
	const state = await find(owner).state(limit);
	expect(state.spent.tokens + state.reserved.tokens).toBeGreaterThanOrEqual(bill.spent);
	await report(shards);
	// An alarm that rings by itself meanwhile plans one more report.
	await expect
		.poll(() => find(owner).state(limit), { message: `seed ${seed}`, timeout: 60_000 })
		.toEqual(budgetState(limit, { tokens: bill.spent, usd: 0 }, nothing));
});
