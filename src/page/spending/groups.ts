/** What was spent by agent, model, user or unit, on all days together. */

import type { Spending } from '../../client/index.ts';
import { element, withoutTurns } from '../parts/element.ts';
import { type Cost, describeCost } from './cost.ts';

type Group = NonNullable<Spending['groups']>[number];
/** A group with money, which is what the panel asks for. */
type SpentGroup = Extract<Group, { readonly spent: unknown }>;

const fields = { agent: 'Agent', model: 'Model', user: 'User', unit: 'Unit' } as const;
type Field = keyof typeof fields;

interface Row extends Required<Cost> {
	readonly inputTokens: number;
	readonly cachedInputTokens: number;
}

/** Makes a field that chooses what to sum up by, and the table of that. */
export function createGroups(groups: Spending['groups'] = []): HTMLElement[] {
	const spent = groups.filter((group): group is SpentGroup => 'spent' in group);
	if (spent.length === 0) return [];
	const field = element('select');
	field.append(...Object.entries(fields).map(([name, label]) => new Option(label, name)));
	const table = element('table', 'groups');
	const show = (): void => table.replaceChildren(...createTable(spent, toField(field.value)));
	field.addEventListener('change', show);
	show();
	return [element('label', 'labelled', 'Summed up by', field), table];
}

function toField(value: string): Field {
	return value === 'model' || value === 'user' || value === 'unit' ? value : 'agent';
}

function createTable(groups: readonly SpentGroup[], field: Field): HTMLElement[] {
	const isUnit = field === 'unit';
	const head = [fields[field], ...(isUnit ? ['Count'] : ['Cost', 'Tokens', 'Cached'])].map((text, at) => {
		const cell = element('th', at === 0 ? '' : 'cost', text);
		cell.scope = 'col';
		return cell;
	});
	const rows = isUnit ? listUnits(groups) : listRows(groups, field);
	const body = rows.map(([name, ...cells]) =>
		element('tr', '', createName(name), ...cells.map((text) => element('td', 'cost', text))),
	);
	return [element('thead', '', element('tr', '', ...head)), element('tbody', '', ...body)];
}

function createName(name: string): HTMLElement {
	const cell = element('th', '', withoutTurns(name));
	cell.scope = 'row';
	return cell;
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
		.toSorted(([, one], [, other]) => other.usd - one.usd || other.tokens - one.tokens)
		.map(([name, row]) => [name, describeCost(row), row.tokens.toLocaleString('en'), toShare(row)]);
}

/** Shows a name. Those that the ledger sums up together are the others. */
function toName(name: string | undefined): string {
	if (name === '*') return 'all others';
	return name ?? 'no user';
}

/** Shows the share of the input that came from a cache. */
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
