/** What agents remember of the owner, or of one of its users: found, written, changed, saved and removed. */

import type { Memory } from '../../client/index.ts';
import { createRemoval } from '../parts/action.ts';
import { button, element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { save } from '../parts/save.ts';
import { createEditor } from './editor.ts';
import { createEntry } from './entry.ts';

/** Memories of a page. */
const pageLength = 50;

export const memory: Panel = {
	name: 'memory',
	title: 'Memory',
	about: 'What agents remember beyond a session: yours, or that of a user of a session.',
	async open(root, place) {
		const list = element('ul', 'cards');
		const nothing = element('p', 'nothing', 'Nothing is remembered here.');
		const more = button('more', 'Show more', () => void showMore().catch(fail));
		const failures = element('div');
		const user = createField('user', 'User', 'Whose: yours');
		const words = createField('search', 'Search memories', 'Search words');
		let cursor: string | undefined;
		let reading = new AbortController();

		const whose = () => (user.value.trim() === '' ? {} : { user: user.value.trim() });
		function fail(error: unknown): void {
			if (!place.signal.aborted) failures.replaceChildren(createFailure(error, place.again));
		}
		function show(memories: readonly Memory[], next?: string): void {
			list.append(...memories.map((one) => createEntry(one, { ...place, holder: whose() })));
			cursor = next;
			more.hidden = next === undefined;
			nothing.hidden = list.hasChildNodes();
		}
		async function showMore(): Promise<void> {
			more.disabled = true;
			const page = await place.client.listMemories({ ...whose(), limit: pageLength, cursor, signal: place.signal });
			more.disabled = false;
			show(page.memories, page.cursor);
		}
		/** Reads anew what the two fields ask for. What an earlier word asked for is not shown any more. */
		async function look(): Promise<void> {
			reading.abort();
			reading = new AbortController();
			const { signal } = reading;
			const query = words.value.trim();
			const page: { readonly memories: readonly Memory[]; readonly cursor?: string } =
				query === ''
					? await place.client.listMemories({ ...whose(), limit: pageLength, signal: place.signal })
					: {
							memories: await place.client.searchMemories(query, { ...whose(), signal: place.signal }),
							cursor: undefined,
						};
			if (signal.aborted || place.signal.aborted) return;
			failures.replaceChildren();
			list.replaceChildren();
			show(page.memories, page.cursor);
		}
		const lookAgain = () => void look().catch(fail);
		for (const field of [user, words]) field.addEventListener('input', lookAgain);

		await showMore();
		const add = button('', 'New…', () => {
			const about = { ...place, holder: whose() };
			list.prepend(element('li', 'card', createEditor(undefined, about, { onSaved: lookAgain, onLeft: lookAgain })));
			nothing.hidden = true;
			list.querySelector('input')?.focus();
		});
		const download = button('', 'Export', () => void exportAll(place, whose()).catch(fail));
		const eraseAll = () => void place.client.eraseMemories({ ...whose(), signal: place.signal }).then(lookAgain, fail);
		const erase = createRemoval('of them', eraseAll, 'Erase all');
		root.append(element('div', 'tools', words, user, add, download, erase), failures, nothing, list, more);
	},
};

function createField(name: string, label: string, placeholder: string): HTMLInputElement {
	const field = element('input', 'search');
	field.type = 'search';
	field.name = name;
	field.placeholder = placeholder;
	field.setAttribute('aria-label', label);
	return field;
}

/** Saves all of a person as lines of JSON. */
async function exportAll({ client, signal }: Place, holder: { readonly user?: string }): Promise<void> {
	const lines: string[] = [];
	for await (const one of client.exportMemories({ ...holder, signal })) lines.push(`${JSON.stringify(one)}\n`);
	save('memories.ndjson', new Blob(lines, { type: 'application/x-ndjson' }));
}
