/** What owners have spent each day. */

import type { Client, Spending } from '../../client/index.ts';
import { describeMoney, describeUsd } from '../../client/words.ts';
import { type ChartLimit, createChart } from '../parts/chart.ts';
import { configure, createTable, element, withoutTurns } from '../parts/element.ts';
import type { Panel } from '../parts/panel.ts';

/** The number of days that are shown, including today. */
const days = 31;

export const spending: Panel = {
	name: 'spending',
	right: 'seeUsers',
	title: 'Spending',
	about:
		'What calls to models cost, by day (UTC), agent, model, user and unit. It needs the role staff, and shows all owners to a key with the scope admin.',
	async open(root, { client, signal }) {
		const { usage, budgets, groups } = await readAll(client, signal);
		const chart = element('div');
		const parts = element('div');
		const table = createTable('spending', ['Day', 'Owner', 'Cost', 'Tokens', ''], []);
		const nothing = element('p', 'nothing', `Nothing was spent in the last ${days} days.`);
		const limits = `By default a session may spend ${describeLimit(budgets.session)}, and an owner ${describeLimit(budgets.day)} a day.`;
		const isHeld = usage.some(({ reserved }) => reserved.tokens > 0);
		const held = isHeld
			? ' What a run may spend is reserved, and what it spent is counted some seconds after its end.'
			: '';
		const show = (owner: string) => {
			const isChosen = (entry: { readonly owner: string }) => owner === '' || entry.owner === owner;
			const chosen = usage.filter(isChosen);
			const most = Math.max(1, ...chosen.map(({ spent }) => spent.tokens));
			table.tBodies[0]?.replaceChildren(...chosen.map((day) => createRow(day, most)));
			chart.replaceChildren(...(chosen.length === 0 ? [] : [createDayChart(chosen, days)]));
			parts.replaceChildren(...createGroups(groups.filter(isChosen)));
		};
		show('');
		const owners = [...new Set(usage.map(({ owner }) => owner))].sort();
		root.append(element('p', 'about', limits, held), ...createOwnerField(owners, show), chart, parts, table, nothing);
	},
};

/** The most owners that are shown. */
const mostPages = 10;

/** Reads the spending of all owners, page by page. */
async function readAll(client: Client, signal: AbortSignal) {
	const { budgets, ...first } = await client.getUsage({ days, by: 'agent,model,user', signal });
	const [usage, groups] = [[...first.usage], [...(first.groups ?? [])]];
	let { cursor } = first;
	for (let page = 1; cursor !== undefined && page < mostPages; page++) {
		const more = await client.getUsage({ days, by: 'agent,model,user', cursor, signal });
		usage.push(...more.usage);
		groups.push(...(more.groups ?? []));
		cursor = more.cursor;
	}
	const byDay = (a: { readonly day: string }, b: { readonly day: string }) =>
		a.day < b.day ? 1 : a.day > b.day ? -1 : 0;
	return { budgets, usage: usage.sort(byDay), groups: groups.sort(byDay) };
}

/** If there are several owners, makes a field that chooses one of them. */
function createOwnerField(owners: readonly string[], onOwner: (owner: string) => void): HTMLElement[] {
	if (owners.length < 2) return [];
	const field = configure(element('select', 'owner'), { ariaLabel: 'Owner' });
	field.append(new Option('All owners', ''), ...owners.map((owner) => new Option(withoutTurns(owner), owner)));
	field.addEventListener('change', () => onOwner(field.value));
	return [field];
}

function createRow(
	{ day, owner, spent, reserved, unpricedTokens }: Spending['usage'][number],
	most: number,
): HTMLElement {
	const bar = configure(element('progress'), { max: most, value: spent.tokens, ariaLabel: `${spent.tokens} tokens` });
	const held =
		reserved.tokens > 0 ? element('small', 'about', ` ${reserved.tokens.toLocaleString('en')} reserved`) : undefined;
	const cells = [
		element('td', '', owner),
		element('td', 'cost', describeCost({ ...spent, unpricedTokens })),
		element('td', 'cost', spent.tokens.toLocaleString('en'), held),
		element('td', 'bar', bar),
	];
	return element('tr', '', element('th', '', day), ...cells);
}

function describeLimit({ tokens, usd }: { readonly tokens?: number; readonly usd?: number }): string {
	const parts = [tokens !== undefined && `${tokens.toLocaleString('en')} tokens`, usd !== undefined && `$${usd}`];
	return parts.filter(Boolean).join(' and ') || 'without a cap';
}

type Amount = Spending['usage'][number]['spent'];

const dayMs = 86_400_000;
const nothing: Required<Cost> = { tokens: 0, usd: 0, unpricedTokens: 0 };

/** Makes a chart of the last days: in dollars, or in tokens if no price is known. */
function createDayChart(usage: Spending['usage'], days: number, now = Date.now()): HTMLElement {
	const sums = new Map<string, Required<Cost>>();
	for (const { day, spent, unpricedTokens: more = 0 } of usage) {
		const { tokens, usd, unpricedTokens } = sums.get(day) ?? nothing;
		sums.set(day, { tokens: tokens + spent.tokens, usd: usd + spent.usd, unpricedTokens: unpricedTokens + more });
	}
	const hasPrices = [...sums.values()].some(({ usd }) => usd > 0);
	const bars = Array.from({ length: days }, (_, at) => {
		const name = new Date(now - (days - 1 - at) * dayMs).toISOString().slice(0, 10);
		const spent = sums.get(name) ?? nothing;
		return { name, parts: [hasPrices ? spent.usd : spent.tokens], words: describeBar(spent), spent };
	});
	const limit = findLimit(usage, hasPrices, bars.at(-1)?.spent);
	const describe = hasPrices ? describeUsd : (tokens: number) => `${tokens.toLocaleString('en')} tokens`;
	return createChart(`${hasPrices ? 'Dollars' : 'Tokens'} by day, the last ${days} days (UTC)`, bars, {
		describe,
		limit,
	});
}

/** Describes a bar's cost. If no price is known, shows the tokens. */
function describeBar(spent: Cost): string {
	const isUnknown = spent.unpricedTokens && spent.usd === 0;
	return isUnknown ? `${spent.tokens.toLocaleString('en')} tokens, cost unknown` : describeCost(spent);
}

/** If there is only one owner, returns the owner's daily budget and today's spending, in the unit of the chart. */
function findLimit(
	usage: Spending['usage'],
	inDollars: boolean,
	today: Amount = { tokens: 0, usd: 0 },
): ChartLimit | undefined {
	const [first] = usage;
	if (first === undefined || usage.some(({ owner }) => owner !== first.owner)) return undefined;
	const { tokens, usd } = first.limit;
	if (inDollars && usd !== undefined)
		return { value: usd, words: `$${today.usd.toFixed(2)} of $${usd.toFixed(2)} today` };
	if (inDollars || tokens === undefined) return undefined;
	const [spent, most] = [today.tokens, tokens].map((count) => count.toLocaleString('en'));
	return { value: tokens, words: `${spent} of ${most} tokens today` };
}

type SpentGroup = Extract<NonNullable<Spending['groups']>[number], { readonly spent: unknown }>;

const fields = { agent: 'Agent', model: 'Model', user: 'User', unit: 'Unit' } as const;
type Field = keyof typeof fields;

interface Row extends Required<Cost> {
	readonly inputTokens: number;
	readonly cachedInputTokens: number;
}

/** Makes a table of the spending by group, and the field that chooses how to group it. */
function createGroups(groups: Spending['groups'] = []): HTMLElement[] {
	const spent = groups.filter((group): group is SpentGroup => 'spent' in group);
	if (spent.length === 0) return [];
	const field = element('select');
	field.append(...Object.entries(fields).map(([name, label]) => new Option(label, name)));
	let table = createGroupTable(spent, 'agent');
	field.addEventListener('change', () => {
		const next = createGroupTable(spent, toField(field.value));
		table.replaceWith(next);
		table = next;
	});
	return [element('label', 'labelled', 'Summed up by', field), table];
}

function toField(value: string): Field {
	return value === 'model' || value === 'user' || value === 'unit' ? value : 'agent';
}

function createGroupTable(groups: readonly SpentGroup[], field: Field): HTMLElement {
	const columns = field === 'unit' ? ['Count'] : ['Cost', 'Tokens', 'Cached'];
	const rows = field === 'unit' ? listUnits(groups) : listRows(groups, field);
	const body = rows.map(([name, ...cells]) => {
		const head = configure(element('th', '', name), { scope: 'row' });
		return element('tr', '', head, ...cells.map((text) => element('td', 'cost', text)));
	});
	return createTable('groups', [fields[field], ...columns], body, 'cost');
}

type Cells = readonly [name: string, ...cells: string[]];

function listRows(groups: readonly SpentGroup[], field: Exclude<Field, 'unit'>): readonly Cells[] {
	const rows = new Map<string, Row>();
	for (const group of groups) {
		const name = toName(group[field]);
		const row = rows.get(name) ?? { tokens: 0, usd: 0, unpricedTokens: 0, inputTokens: 0, cachedInputTokens: 0 };
		rows.set(name, {
			tokens: row.tokens + group.spent.tokens,
			usd: row.usd + (group.spent.usd ?? 0),
			unpricedTokens: row.unpricedTokens + (group.unpricedTokens ?? 0),
			inputTokens: row.inputTokens + group.inputTokens,
			cachedInputTokens: row.cachedInputTokens + group.cachedInputTokens,
		});
	}
	return [...rows]
		.toSorted(([, a], [, b]) => b.usd - a.usd || b.tokens - a.tokens)
		.map(([name, row]) => [name, describeCost(row), row.tokens.toLocaleString('en'), toShare(row)]);
}

/** Returns the name to show. `*` stands for all names that the ledger has combined because they are rare. */
function toName(name: string | undefined): string {
	if (name === '*') return 'all others';
	return name ?? 'no user';
}

function toShare({ inputTokens, cachedInputTokens }: Row): string {
	return inputTokens === 0 ? '' : `${Math.round((100 * cachedInputTokens) / inputTokens)}%`;
}

function listUnits(groups: readonly SpentGroup[]): readonly Cells[] {
	const counts = new Map<string, number>();
	const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
	for (const { spent, inputTokens, cachedInputTokens, units } of groups) {
		add('input tokens', inputTokens);
		add('of these from a cache', cachedInputTokens);
		add('output tokens', spent.tokens - inputTokens);
		for (const [name, count] of Object.entries(units)) add(name.replaceAll('_', ' '), count);
	}
	return [...counts].flatMap(([name, count]) => (count > 0 ? [[name, count.toLocaleString('en')] as const] : []));
}

interface Cost {
	readonly tokens: number;
	/** The dollars for the tokens whose price is known. */
	readonly usd: number;
	readonly unpricedTokens?: number;
}

/** Describes a cost. An unknown price is shown as unknown, not as 0. */
function describeCost(cost: Cost): string {
	if (!cost.unpricedTokens) return describeMoney(cost);
	return cost.usd > 0 ? `${describeMoney(cost)} and unknown` : 'unknown';
}
