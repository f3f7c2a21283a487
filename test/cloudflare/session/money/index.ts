/**
 * A random walk over the costs of models: owners, users and sessions with caps of all kinds, the real adapters, and
 * providers that bill by their price sheets. Throws for a broken promise of docs/budgets.md.
 */
import { vi } from 'vitest';
import { atCrashPoint, die } from '../../../crash.ts';
import { createRandom } from '../../../endurance/random.ts';
import { breakStorage, mendStorage } from '../../../storage.ts';
import { checkCaps, checkCharges, checkLedger, sumUp } from './check.ts';
import { passMidnight, startClock, waitShortly } from './clock.ts';
import { market } from './provider.ts';
import { begin, cancel, copy, createCap, pick, raise, say } from './steps.ts';
import { capDays, listFamily, setDayCap, settle, setUserCaps, type World, wake } from './world.ts';

/** The approximate number of messages in an owner's part of the walk. */
const messagesOfPart = 10;

const counts = { messages: 0, calls: 0, kills: 0, owners: 0, midnights: 0, 'broken writes': 0 };

/** Walks until this many messages were sent. Returns the counts of its steps. */
export async function walkOverMoney(seed: number, messages: number) {
	Object.assign(counts, { messages: 0, calls: 0, kills: 0, owners: 0, midnights: 0, 'broken writes': 0 });
	let [billed, charged] = [0, 0];
	// The first request of a provider loads its SDK. On the fast clock, loading may exceed the timeout of a request.
	await Promise.all([
		import('../../../../src/core/providers/adapter/anthropic-sdk.ts'),
		import('../../../../src/core/providers/adapter/openai-sdk.ts'),
	]);
	startClock();
	market.isOpen = true;
	const uncap = await capDays();
	try {
		for (let part = 0; counts.messages < messages; part++) {
			const found = await walkPart(seed + part).catch((cause: unknown) => {
				throw new Error(`seed ${seed + part}: ${cause instanceof Error ? cause.message : cause}`, { cause });
			});
			billed += found.billed;
			charged += found.charged;
		}
	} finally {
		uncap();
		market.isOpen = false;
		atCrashPoint();
		mendStorage();
		vi.restoreAllMocks();
	}
	return { seed, ...counts, 'billed, dollars': billed.toFixed(6), 'charged, dollars': charged.toFixed(6) };
}

/** Walks one part, with its own owner. */
async function walkPart(seed: number) {
	const random = createRandom(seed);
	Object.assign(market, { seed, bills: [], asked: new Map() });
	const owner = `money-${seed}-${crypto.randomUUID().slice(0, 8)}`;
	const world: World = { owner, random, payers: [], dayCap: {}, userCaps: new Map() };
	const chance = (percent: number): boolean => random(1, 100) <= percent;
	setDayCap(world, chance(60) ? createCap(world) : {});
	for (const user of ['ann', 'bob'])
		if (chance(60))
			await setUserCaps(world, user, {
				...(chance(60) && { daily: createCap(world) }),
				...(chance(60) && { total: createCap(world) }),
			});
	for (let n = random(1, 4); n > 0; n--) await begin(world);
	for (let sent = 0; sent < messagesOfPart; ) {
		if (chance(30)) plan(world);
		const work: Promise<void>[] = [];
		for (let n = random(1, 4); n > 0; n--) {
			const payer = pick(world, world.payers);
			if (payer === undefined) continue;
			sent++;
			counts.messages++;
			work.push(say(world, payer));
			if (chance(12)) work.push(cancel(world, payer));
			if (chance(10)) work.push(raise(world, payer));
		}
		await Promise.all(work);
		if (chance(10)) await copyOne(world);
		await settle(world);
		atCrashPoint();
		mendStorage();
		checkCaps(world);
		await checkCharges(world);
		if (chance(10)) {
			counts.midnights++;
			passMidnight();
		}
	}
	return finish(world);
}

async function copyOne(world: World): Promise<void> {
	await settle(world);
	const payer = pick(world, world.payers);
	if (payer !== undefined) await copy(world, payer);
}

/** Kills an object once or twice, or lets a write fail. */
function plan(world: World): void {
	const { random } = world;
	for (const payer of world.payers) payer.isDisturbed = true;
	if (random(1, 4) === 1) {
		let left = random(5, 60);
		breakStorage(() => {
			const fails = --left === 0;
			if (fails) counts['broken writes']++;
			return fails;
		});
	}
	let kills = random(1, 2);
	let after = random(0, 14);
	atCrashPoint((_, { session }) => {
		if (kills === 0 || after-- > 0) return undefined;
		kills--;
		after = random(0, 4);
		counts.kills++;
		return die(session, { isDurable: random(0, 1) === 1 });
	});
}

/** Checks everything when nothing is left to do. */
async function finish(world: World) {
	const all = await listFamily(world);
	for (let n = 0; n < 3; n++) for (const id of all) await wake(id);
	checkCaps(world);
	const charged = await checkCharges(world);
	// The ledger gets the reports that failed at first.
	for (let tries = 1; ; tries++) {
		try {
			await checkLedger(world, charged);
			break;
		} catch (error) {
			if (tries === 20) throw error;
			for (const id of all) await wake(id);
			await waitShortly(20);
		}
	}
	counts.owners++;
	counts.calls += market.bills.length;
	return { billed: sumUp(market.bills).usd, charged: charged.usd };
}
