/** What owners spent, by day. */

import type { Spending } from '../../client/index.ts';
import { element, withoutTurns } from '../parts/element.ts';
import type { Panel } from '../parts/panel.ts';
import { createDayChart } from './chart.ts';
import { describeCost } from './cost.ts';
import { createGroups } from './groups.ts';

/** Days that are shown, today with them. */
const days = 31;

export const spending: Panel = {
	name: 'spending',
	title: 'Spending',
	about:
		'What calls to models cost, by day (UTC), agent, model, user and unit. It needs the role staff, and shows all owners to a key with the scope admin.',
	async open(root, { client, signal }) {
		const { usage, budgets, groups } = await client.getUsage({ days, by: 'agent,model,user', signal });
		const head = ['Day', 'Owner', 'Cost', 'Tokens', ''].map((text) => element('th', '', text));
		for (const cell of head) cell.scope = 'col';
		const chart = element('div');
		const parts = element('div');
		const rows = element('tbody');
		const table = element('table', 'spending', element('thead', '', element('tr', '', ...head)), rows);
		const nothing = element('p', 'nothing', `Nothing was spent in the last ${days} days.`);
		nothing.hidden = usage.length > 0;
		const limits = `By default a session may spend ${describeLimit(budgets.session)}, and an owner ${describeLimit(budgets.day)} a day.`;
		const show = (owner: string) => {
			const chosen = usage.filter((one) => owner === '' || one.owner === owner);
			const most = Math.max(1, ...chosen.map(({ spent }) => spent.tokens));
			rows.replaceChildren(...chosen.map((day) => createRow(day, most)));
			chart.replaceChildren(...(chosen.length === 0 ? [] : [createDayChart(chosen, days)]));
			parts.replaceChildren(...createGroups(groups?.filter((one) => owner === '' || one.owner === owner)));
		};
		show('');
		const owners = [...new Set(usage.map(({ owner }) => owner))].sort();
		root.append(element('p', 'about', limits), ...createOwnerField(owners, show), chart, parts, table, nothing);
	},
};

/** Makes a field to look at one owner, where there are several. */
function createOwnerField(owners: readonly string[], onOwner: (owner: string) => void): HTMLElement[] {
	if (owners.length < 2) return [];
	const field = element('select', 'owner');
	field.setAttribute('aria-label', 'Owner');
	field.append(new Option('All owners', ''), ...owners.map((owner) => new Option(withoutTurns(owner), owner)));
	field.addEventListener('change', () => onOwner(field.value));
	return [field];
}

function createRow(
	{ day, owner, spent, reserved, unpricedTokens }: Spending['usage'][number],
	most: number,
): HTMLElement {
	const bar = element('progress');
	bar.max = most;
	bar.value = spent.tokens;
	bar.setAttribute('aria-label', `${spent.tokens} tokens`);
	const held =
		reserved.tokens > 0 ? element('small', 'about', ` ${reserved.tokens.toLocaleString('en')} reserved`) : '';
	return element(
		'tr',
		'',
		element('th', '', day),
		element('td', '', owner),
		element('td', 'cost', describeCost({ ...spent, unpricedTokens })),
		element('td', 'cost', spent.tokens.toLocaleString('en'), held),
		element('td', 'bar', bar),
	);
}

function describeLimit({ tokens, usd }: { readonly tokens?: number; readonly usd?: number }): string {
	const parts = [
		...(tokens === undefined ? [] : [`${tokens.toLocaleString('en')} tokens`]),
		...(usd === undefined ? [] : [`$${usd}`]),
	];
	return parts.length === 0 ? 'without a cap' : parts.join(' and ');
}
