/** The memories of the owner or a user. A person can search, write, change, export and remove them. */

import { ClientError, type Memory } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, element, link, save } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createAction, createCardForm, createRemoval, createSearchField } from '../parts/form.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';
import { createAge } from '../parts/time.ts';

const pageLength = 50;

export const memory: Panel = {
	name: 'memory',
	right: 'seeUsers',
	title: 'Memory',
	about: 'What agents remember beyond a session: yours, or that of a user of a session.',
	async open(root, place) {
		const list = element('ul', 'cards');
		const user = configure(createSearchField('User', 'Whose: yours'), { name: 'user' });
		const words = configure(createSearchField('Search memories', 'Search words'), { name: 'search' });
		const whose = () => (user.value.trim() === '' ? {} : { user: user.value.trim() });
		const { more, failures, load, reload, fail } = createPages(
			place,
			async (cursor) => {
				const { client, signal } = place;
				const query = words.value.trim();
				if (query === '') return client.listMemories({ ...whose(), limit: pageLength, cursor, signal });
				return { memories: await client.searchMemories(query, { ...whose(), signal }), cursor: undefined };
			},
			({ memories }, isFirst) => {
				if (isFirst) list.replaceChildren();
				list.append(...memories.map((entry) => createEntry(entry, { ...place, holder: whose() })));
			},
		);
		for (const field of [user, words]) field.addEventListener('input', reload);

		await load();
		const add = button('', 'New…', () => {
			const about = { ...place, holder: whose() };
			list.prepend(element('li', 'card', createEditor(undefined, about, { onSaved: reload, onLeft: reload })));
			list.querySelector('input')?.focus();
		});
		const download = button('', 'Export', () => void exportAll(place, whose()).catch(fail));
		const eraseAll = () => void place.client.eraseMemories({ ...whose(), signal: place.signal }).then(reload, fail);
		const erase = createRemoval('of them', eraseAll, 'Erase all');
		const nothing = element('p', 'nothing', 'Nothing is remembered here.');
		const changes = place.viewer.may('manageUsers') ? [add, download, erase] : [download];
		root.append(element('div', 'tools', words, user, ...changes), failures, nothing, list, more);
	},
};

/** Exports all memories of a person as lines of JSON. */
async function exportAll({ client, signal }: Place, holder: { readonly user?: string }): Promise<void> {
	const lines: string[] = [];
	for await (const memory of client.exportMemories({ ...holder, signal })) lines.push(`${JSON.stringify(memory)}\n`);
	save('memories.ndjson', new Blob(lines, { type: 'application/x-ndjson' }));
}

function createEntry(memory: Memory, whose: Whose): HTMLElement {
	const entry = element('li', 'card memory');
	const show = (now: Memory): void => entry.replaceChildren(...createView(now));

	function createView(now: Memory): HTMLElement[] {
		const edit = createAction('Edit', now.path, () => {
			entry.replaceChildren(createEditor(now, whose, { onSaved: show, onLeft: () => show(now) }));
			entry.querySelector('textarea')?.focus();
		});
		const actions = element(
			'span',
			'actions',
			edit,
			createRemoval(now.path, () => void remove(now)),
		);
		const shown = whose.viewer.may('manageUsers') ? actions : undefined;
		const head = element('p', 'card-head', element('span', 'title', now.path), createSource(now), shown);
		return [head, element('p', 'card-text', now.text)];
	}

	/** Removes the memory if the shown version is the newest. Otherwise shows an error and a button that reloads. */
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

/** Describes who changed the memory last, and when. */
function createSource({ source: { via, agent = 'an agent', sessionId }, updatedAt }: Memory): HTMLElement {
	const who = via === 'http' ? 'over HTTP' : agent;
	const name = sessionId === undefined ? who : link('', toSessionAddress(sessionId), who);
	return element('span', 'about', name, ' · ', createAge(updatedAt));
}

/** The person whose memories a panel shows. */
interface Whose extends Pick<Place, 'client' | 'viewer' | 'signal' | 'again'> {
	readonly holder: { readonly user?: string };
}

interface Outcome {
	readonly onSaved: (memory: Memory) => void;
	/** Called when the person cancels. */
	readonly onLeft: () => void;
}

/** Makes the form for a new or an existing memory. Saving never overwrites a change that the person has not seen. */
function createEditor(memory: Memory | undefined, whose: Whose, { onSaved, onLeft }: Outcome): HTMLFormElement {
	const { client, signal, holder } = whose;
	const path = configure(element('input'), { required: true, placeholder: 'preferences.md', ariaLabel: 'Path' });
	configure(path, { value: memory?.path ?? '', readOnly: memory !== undefined });
	const text = configure(element('textarea'), {
		required: true,
		rows: 4,
		ariaLabel: 'Text',
		value: memory?.text ?? '',
	});
	const conflict = configure(element('div'), { role: 'alert' });
	const label = memory === undefined ? 'A new memory' : `Change ${memory.path}`;
	const form = createCardForm(label, [path, text, conflict], write, onLeft);
	let known = memory;

	async function write(): Promise<void> {
		conflict.replaceChildren();
		const condition = known === undefined ? { isNew: true } : { version: known.version };
		try {
			onSaved(await client.putMemory(path.value.trim(), text.value, { ...holder, ...condition, signal }));
		} catch (error) {
			if (!(error instanceof ClientError && error.code === 'precondition_failed')) throw error;
			await showConflict();
		}
	}

	/** Shows the current memory at the path. The next save overwrites only this version. */
	async function showConflict(): Promise<void> {
		known = await client.getMemory(path.value.trim(), { ...holder, signal }).catch(passMissing);
		if (known === undefined) {
			conflict.append(element('div', 'failure', 'Somebody has removed it meanwhile. Save writes it anew.'));
			return;
		}
		path.readOnly = true;
		const now = element('p', 'card-text', known.text);
		conflict.append(element('div', 'failure', 'Somebody has written this meanwhile. Save replaces it:', now));
	}

	form.addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') onLeft();
	});
	return form;
}

/** Ignores the error `not_found`. Throws any other error. */
function passMissing(error: unknown): undefined {
	if (!(error instanceof ClientError) || error.code !== 'not_found') throw error;
}
