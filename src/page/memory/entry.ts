import type { Memory } from '../../client/index.ts';
import { createAction, createRemoval } from '../parts/action.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge } from '../parts/age.ts';
import { element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createEditor, type Whose } from './editor.ts';

/** Makes the entry of a memory: its text, who changed it last, and what can be done with it. */
export function createEntry(memory: Memory, whose: Whose): HTMLElement {
	const entry = element('li', 'card memory');
	const show = (now: Memory): void => entry.replaceChildren(...createView(now));

	function createView(now: Memory): HTMLElement[] {
		const actions = element('span', 'actions');
		actions.append(
			createAction('Edit', now.path, () => {
				entry.replaceChildren(createEditor(now, whose, { onSaved: show, onLeft: () => show(now) }));
				entry.querySelector('textarea')?.focus();
			}),
			createRemoval(now.path, () => void remove(now)),
		);
		const head = element('p', 'card-head', element('span', 'title', now.path), createSource(now), actions);
		return [head, element('p', 'card-text', now.text)];
	}

	/** Removes what is shown. What somebody has changed since is shown instead. */
	async function remove(now: Memory): Promise<void> {
		const { client, signal, holder } = whose;
		try {
			await client.deleteMemory(now.path, { ...holder, version: now.version, signal });
			entry.remove();
		} catch (error) {
			if (!signal.aborted) entry.append(createFailure(error, () => void remove(now), again));
		}
	}
	const again = { label: 'Look again', onClick: whose.again };

	show(memory);
	return entry;
}

/** Says who changed a memory last, and when. */
function createSource({ source: { via, agent = 'an agent', sessionId }, updatedAt }: Memory): HTMLElement {
	const who = via === 'http' ? 'over HTTP' : agent;
	const name = sessionId === undefined ? who : link('', toSessionAddress(sessionId), who);
	return element('span', 'about', name, ' · ', createAge(updatedAt));
}
