/** `npm run simulate` (docs/scale.md, "Simulation"). */
import { describe, expect, test } from 'vitest';
import { estimateWakes, Queue, simulate } from '../../scripts/simulate/model.ts';

const world = {
	...{ owners: 1, users: 10_000_000, rate: 1_000, seconds: 2, shards: 64, seed: 1 },
	service: { ledger: 0.31, directory: 0.23 },
};

describe('the simulation', () => {
	test('has the same outcome for the same world, and another outcome for another seed', async () => {
		const outcome = await simulate(world);
		expect(await simulate(world)).toEqual(outcome);
		expect(await simulate({ ...world, seed: 2 })).not.toEqual(outcome);
		expect(outcome).toMatchObject({ runs: 2_000, refused: 0, setAside: 0 });
	});

	test('asks the ledger of a large owner for few of its runs, and gives back all that is set aside', async () => {
		const { kinds, setAside } = await simulate({ ...world, rate: 2_000 });
		expect(kinds['shard of a ledger']).toMatchObject({ objects: 64, calls: 8_000 });
		expect(kinds['ledger of an owner'].calls).toBeLessThan(kinds['shard of a ledger'].calls / 8);
		expect(setAside).toBe(0);
	});

	test('makes calls wait as a queue with constant service does', () => {
		const queue = new Queue();
		let [at, seed] = [0, 1];
		for (let n = 0; n < 200_000; n++) {
			seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
			at -= 2 * Math.log((seed + 1) / 2 ** 32);
			queue.serve(at, 1);
		}
		// The formula of Pollaczek and Khinchine, at half of the capacity: half of the service time.
		expect(queue.waits.reduce((sum, wait) => sum + wait, 0) / queue.waits.length).toBeCloseTo(0.5, 1);
	});

	test('wakes 100,000 schedules of one minute within a minute', () => {
		const { lastMs } = estimateWakes({ schedules: 100_000, shards: 64, wakeMs: 34 });
		expect(lastMs).toBeLessThan(60_000);
	});
});
