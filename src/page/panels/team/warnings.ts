/** How much of a budget is spent, as a bar with words, and a warning from 80 % on. */

import { describeMoney } from '../../../client/words.ts';
import { configure, element, link } from '../../parts/element.ts';
import type { Person, State, Team } from './read.ts';

/** The share of a budget from which the page warns. */
const nearly = 0.8;

/** Returns the share of a budget that is spent: of the dollars or the tokens, whichever is larger. */
function findShare({ spent, limit }: State): number | undefined {
	const shares = (['usd', 'tokens'] as const).flatMap((unit) => {
		const most = limit[unit];
		return most === undefined ? [] : [most === 0 ? 1 : spent[unit] / most];
	});
	return shares.length === 0 ? undefined : Math.max(...shares);
}

function describeState({ spent, limit: { usd, tokens } }: State): string {
	if (usd !== undefined) return `$${spent.usd.toFixed(2)} of $${usd.toFixed(2)}`;
	if (tokens !== undefined) return `${spent.tokens.toLocaleString('en')} of ${tokens.toLocaleString('en')} tokens`;
	return describeMoney(spent);
}

/** Makes the bar of a budget. Without a budget it shows only what was spent. */
export function createMeter(state: State, label: string): HTMLElement {
	const share = findShare(state);
	const words = element('span', 'meter-words', element('span', 'about', label), ' ', describeState(state));
	if (share === undefined) return element('div', 'meter', words);
	const bar = configure(element('progress'), { max: 1, value: Math.min(1, share), ariaLabel: label });
	const box = element('div', 'meter', words, bar);
	box.dataset.level = toLevel(share);
	return box;
}

function toLevel(share: number): 'fine' | 'near' | 'over' {
	return share >= 1 ? 'over' : share >= nearly ? 'near' : 'fine';
}

interface Warned {
	readonly name: string;
	readonly words: string;
	readonly share: number;
}

/** Names everybody who has spent nearly all of a budget, those at their limit first. */
export function createWarnings({ owner, today, people }: Team): HTMLElement[] {
	const all: readonly Warned[] = [
		...toWarned(owner, 'today, all together', today),
		...people.flatMap(({ name, budget }: Person) => [
			...toWarned(name, 'today', budget.daily),
			...toWarned(name, 'in all', budget.total),
		]),
	];
	if (all.length === 0) return [];
	const rows = all
		.toSorted((a, b) => b.share - a.share)
		.map(({ name, words, share }) => {
			const row = element('li', '', element('b', '', name), ` ${words}`);
			row.dataset.level = toLevel(share);
			return row;
		});
	const more = link('', '#/spending', 'Spending');
	return [configure(element('div', 'team-warning', element('ul', '', ...rows), more), { role: 'status' })];
}

function toWarned(name: string, when: string, state: State): readonly Warned[] {
	const share = findShare(state);
	if (share === undefined || share < nearly) return [];
	const fate = share >= 1 ? 'is at the limit' : `has spent ${Math.round(share * 100)} %`;
	return [{ name, share, words: `${fate} ${when}: ${describeState(state)}.` }];
}
