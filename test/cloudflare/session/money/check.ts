/** Checks the money of an owner: no cap is exceeded, and nobody pays less than was billed. */
import type { Limit } from '../../../../src/cloudflare/objects/budget.ts';
import { type Bill, market, toTokens, toUsd } from './provider.ts';
import { ask, readSession, type World } from './world.ts';

export interface Money {
	readonly tokens: number;
	readonly usd: number;
}

/** A millionth of a dollar: the tolerance between the price sheet and our sums. */
const least = 0.000_001;

export function sumUp(bills: readonly Bill[]): Money {
	return bills.reduce((sum, one) => ({ tokens: sum.tokens + toTokens(one), usd: sum.usd + toUsd(one) }), {
		tokens: 0,
		usd: 0,
	});
}

class Broken extends Error {}

function fail(what: string, bills: readonly Bill[]): never {
	const lines = bills.slice(-40).map((one) => `${JSON.stringify(one)} $${toUsd(one)}`);
	throw new Broken([what, ...lines].join('\n'));
}

function holdCap(name: string, cap: Limit, bills: readonly Bill[]): void {
	const { tokens, usd } = sumUp(bills);
	if (cap.tokens !== undefined && tokens > cap.tokens)
		fail(`${name}: ${tokens} of ${cap.tokens} tokens are billed`, bills);
	if (cap.usd !== undefined && usd > cap.usd + least / 1_000) fail(`${name}: $${usd} of $${cap.usd} are billed`, bills);
}

/** Checks the caps at any moment. */
export function checkCaps({ payers, userCaps, dayCap }: World): void {
	const labels = new Map(payers.map((payer) => [payer.label, payer]));
	const all = market.bills;
	// A failed child sends its parent a message without a label, and memories are searched with its text.
	const lost = all.filter(({ label, isVectors }) => !labels.has(label) && !isVectors);
	if (lost.length > 0) fail('A request says no session', lost);
	for (const { label, cap } of payers)
		holdCap(
			`session ${label}`,
			cap,
			all.filter((one) => one.label === label),
		);
	for (const day of new Set(all.map((one) => one.day))) {
		const ofDay = all.filter((one) => one.day === day);
		holdCap(`day ${day}`, dayCap, ofDay);
		for (const [user, { daily = {} }] of userCaps)
			holdCap(
				`day ${day} of ${user}`,
				daily,
				ofDay.filter(({ label }) => labels.get(label)?.user === user),
			);
	}
	for (const [user, { total = {} }] of userCaps)
		holdCap(
			`all of ${user}`,
			total,
			all.filter(({ label }) => labels.get(label)?.user === user),
		);
}

/**
 * Compares charges and bills when nothing runs. Returns the charges. The session pays for vectors in a run, and the
 * owner outside of a run.
 */
export async function checkCharges({ owner, payers }: World): Promise<Money> {
	let charged: Money = { tokens: 0, usd: 0 };
	for (const { id, label, agent, isDisturbed } of payers) {
		const bills = market.bills.filter((one) => one.label === label && !one.isVectors);
		const billed = sumUp(bills);
		const state = await readSession(owner, id);
		if (state === undefined) fail(`session ${label} is gone`, bills);
		const { spent, reserved, limit } = state.budget;
		if (reserved.tokens > 0 || reserved.usd > 0)
			fail(`session ${label}: ${JSON.stringify(reserved)} stay reserved`, bills);
		if (spent.tokens < billed.tokens || spent.usd < billed.usd - least)
			fail(`session ${label}: charged ${JSON.stringify(spent)}, billed ${JSON.stringify(billed)}`, bills);
		const isKnown = !isDisturbed && agent !== 'payer-boss' && bills.every((one) => one.isSaid);
		if (isKnown && (spent.tokens !== billed.tokens || spent.usd > billed.usd + least))
			fail(`session ${label}: charged ${JSON.stringify(spent)}, billed exactly ${JSON.stringify(billed)}`, bills);
		if ((limit.tokens ?? Infinity) < spent.tokens || (limit.usd ?? Infinity) < spent.usd - least)
			fail(`session ${label}: charged ${JSON.stringify(spent)} of ${JSON.stringify(limit)}`, bills);
		charged = { tokens: charged.tokens + spent.tokens, usd: charged.usd + spent.usd };
	}
	return charged;
}

interface Usage {
	readonly usage: readonly { readonly spent: Money; readonly reserved: Money }[];
	readonly groups?: readonly {
		readonly spent?: { tokens: number; usd: number | null };
		unit?: string;
		count?: number;
	}[];
}

/** Compares the ledger and the sessions: the same sums, also by agent, model, user and unit, and nothing reserved. */
export async function checkLedger({ owner, payers }: World, charged: Money): Promise<void> {
	for (const by of ['agent', 'model', 'user', 'agent,model,user', 'unit']) {
		const answer = await ask(owner, `/v1/usage?owner=${owner}&by=${by}`);
		if (answer?.status !== 200) fail(`usage: ${answer?.status} ${answer?.text}`, []);
		const { usage, groups = [] }: Usage = JSON.parse(answer.text);
		const sum = (name: 'spent' | 'reserved', unit: keyof Money): number =>
			usage.reduce((total, day) => total + day[name][unit], 0);
		if (sum('reserved', 'tokens') > 0 || sum('reserved', 'usd') > 0) fail(`${owner}: ${answer.text}`, market.bills);
		const spent: Money = { tokens: sum('spent', 'tokens'), usd: sum('spent', 'usd') };
		const isSame = (tokens: number, usd: number): boolean =>
			tokens === spent.tokens && Math.abs(usd - spent.usd) < least;
		const billed = sumUp(market.bills);
		const isLess = spent.tokens < charged.tokens || spent.usd < charged.usd - least;
		const isBelow = spent.tokens < billed.tokens || spent.usd < billed.usd - least;
		const hasVectors = market.bills.some((one) => one.isVectors);
		if (isLess || isBelow || (!hasVectors && !isSame(charged.tokens, charged.usd)))
			fail(`the ledger has ${answer.text}, sessions ${JSON.stringify(charged)}`, market.bills);
		if (by === 'unit') checkUnits(groups, spent, payers);
		else {
			const tokens = groups.reduce((total, one) => total + (one.spent?.tokens ?? 0), 0);
			const usd = groups.reduce((total, one) => total + (one.spent?.usd ?? 0), 0);
			if (!isSame(tokens, usd)) fail(`by ${by}: ${answer.text} of ${JSON.stringify(spent)}`, market.bills);
		}
	}
}

/** Compares units and bills: all tokens, and at least the billed searches. */
function checkUnits(groups: NonNullable<Usage['groups']>, charged: Money, payers: World['payers']): void {
	const count = (...units: readonly string[]): number =>
		groups.reduce((total, one) => total + (units.includes(one.unit ?? '') ? (one.count ?? 0) : 0), 0);
	const tokens = count('input_tokens', 'output_tokens');
	if (tokens !== charged.tokens) fail(`by unit there are ${tokens} of ${charged.tokens} tokens`, market.bills);
	// An interrupted request is charged by an estimate without units.
	const calm = new Set(payers.flatMap(({ label, isDisturbed }) => (isDisturbed ? [] : [label])));
	const said = market.bills.filter(({ label, isSaid }) => isSaid && calm.has(label));
	for (const unit of ['web_searches', 'searched_prompts', 'containers']) {
		const billed = said.reduce((total, { tally }) => total + (tally.pieces[unit] ?? 0), 0);
		if (count(unit) < billed) fail(`by unit there are ${count(unit)} of ${billed} ${unit}`, market.bills);
	}
}
