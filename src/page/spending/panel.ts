/** What owners spent, by day. */

import type { Spending } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { element } from '../parts/element.ts';
import type { Panel } from '../parts/panel.ts';

export const spending: Panel = {
	name: 'spending',
	title: 'Spending',
	about: 'What calls to models cost, by owner and day (UTC). It needs a key with the scope admin.',
	async open(root, { client, signal }) {
		const { usage, budgets } = await client.getUsage({ days: 31, signal });
		const most = Math.max(1, ...usage.map(({ spent }) => spent.tokens));
		const head = ['Day', 'Owner', 'Cost', 'Tokens', ''].map((text) => element('th', '', text));
		for (const cell of head) cell.scope = 'col';
		const table = element(
			'table',
			'spending',
			element('thead', '', element('tr', '', ...head)),
			element('tbody', '', ...usage.map((day) => createRow(day, most))),
		);
		const nothing = element('p', 'nothing', 'Nothing was spent in the last 31 days.');
		nothing.hidden = usage.length > 0;
		const limits = `By default a session may spend ${describeLimit(budgets.session)}, and an owner ${describeLimit(budgets.day)} a day.`;
		root.append(element('p', 'about', limits), table, nothing);
	},
};

function createRow({ day, owner, spent, reserved }: Spending['usage'][number], most: number): HTMLElement {
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
		element('td', 'cost', describeMoney(spent)),
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
