/** Groups the calls that follow one another in a turn under one line. It opens to show a line for each. */

import { say } from '../../client/say.ts';
import { element } from '../parts/element.ts';
import { createIcon } from '../parts/icon.ts';
import { reveal, stateChange } from './tool-call.ts';

/** `add` appends an element to the turn. */
export function createCallGroups(add: (node: HTMLElement) => void) {
	let first: HTMLElement | undefined;
	let group: ReturnType<typeof createGroup> | undefined;
	return {
		add(call: HTMLElement): void {
			if (first === undefined) {
				first = call;
				add(call);
				return;
			}
			group ??= createGroup(first);
			group.add(call);
		},
		/** Ends the group. The next call begins another one. */
		end(): void {
			first = group = undefined;
		},
	};
}

/** The states that a group names, the most urgent first. */
const notable = [
	['waiting', 'hand', '{count} waiting'],
	['running', 'loader', '{count} running'],
	['failed', 'cross', '{count} failed'],
] as const;

function createGroup(first: HTMLElement) {
	const count = element('span', 'name');
	const names = element('span', 'brief');
	const state = element('span', 'took');
	const sign = element('span', 'sign');
	const calls = element('div', 'body');
	const root = element('details', 'calls', element('summary', '', sign, count, names, state), calls);

	function update(): void {
		const all = [...calls.children].filter((call) => call instanceof HTMLElement);
		count.textContent = say('{count} calls', { count: all.length });
		names.textContent = all.map((call) => call.querySelector('.name')?.textContent ?? '').join(', ');
		const countIn = (wanted: string) => all.filter(({ dataset }) => dataset.state === wanted).length;
		const shown = notable.filter(([wanted]) => countIn(wanted) > 0);
		const [first = 'done', icon = 'group'] = shown[0] ?? [];
		root.dataset.state = first;
		sign.replaceChildren(createIcon(icon));
		state.textContent = shown.map(([wanted, , words]) => say(words, { count: countIn(wanted) })).join(', ');
	}

	root.addEventListener(stateChange, update);
	root.addEventListener(reveal, () => {
		root.open = true;
	});
	first.replaceWith(root);
	calls.append(first);
	if (first instanceof HTMLDetailsElement && first.open) root.open = true;
	return {
		add(call: HTMLElement): void {
			calls.append(call);
			update();
		},
	};
}
