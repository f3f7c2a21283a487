/** What agents remember of the owner, or of one of its users: found, written, changed, saved and removed. */

import { ClientError, type Memory } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, element, link, save } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createAction, createRemoval } from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createAge } from '../parts/time.ts';

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
		/** Reads the memories that match the two fields. Ignores the answer to an earlier search. */
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

/** Makes the entry of a memory: its text, its last author, and its actions. */
function createEntry(memory: Memory, whose: Whose): HTMLElement {
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

	/** Removes the shown version. A newer version is shown instead. */
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

/** Describes the last author and time of a change. */
function createSource({ source: { via, agent = 'an agent', sessionId }, updatedAt }: Memory): HTMLElement {
	const who = via === 'http' ? 'over HTTP' : agent;
	const name = sessionId === undefined ? who : link('', toSessionAddress(sessionId), who);
	return element('span', 'about', name, ' · ', createAge(updatedAt));
}

/** Whose memories a panel shows. */
interface Whose extends Pick<Place, 'client' | 'signal' | 'again'> {
	readonly holder: { readonly user?: string };
}

interface Outcome {
	readonly onSaved: (memory: Memory) => void;
	/** Called when the person cancels. */
	readonly onLeft: () => void;
}

/**
 * Makes the form that changes a memory, or writes a new one. It shows a conflicting change by another person, and replaces nothing
 * that the person has not seen.
 */
function createEditor(memory: Memory | undefined, whose: Whose, { onSaved, onLeft }: Outcome): HTMLFormElement {
	const { client, signal, holder } = whose;
	const path = element('input');
	path.required = true;
	path.placeholder = 'preferences.md';
	path.setAttribute('aria-label', 'Path');
	path.value = memory?.path ?? '';
	path.readOnly = memory !== undefined;
	const text = element('textarea');
	text.required = true;
	text.rows = 4;
	text.setAttribute('aria-label', 'Text');
	text.value = memory?.text ?? '';
	const keep = element('button', 'retry yes', 'Save');
	const said = element('div');
	const form = element('form', 'card-form', path, text, said, keep, button('retry', 'Cancel', onLeft));
	form.setAttribute('aria-label', memory === undefined ? 'A new memory' : `Change ${memory.path}`);
	let known = memory;

	async function write(): Promise<void> {
		keep.disabled = true;
		const condition = known === undefined ? { isNew: true } : { version: known.version };
		try {
			onSaved(await client.putMemory(path.value.trim(), text.value, { ...holder, ...condition, signal }));
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ClientError && error.code === 'precondition_failed'))
				said.replaceChildren(createFailure(error, () => void write()));
			else await showConflict();
		}
		keep.disabled = false;
	}

	/** Shows the current memory at the path. The next save replaces that version only. */
	async function showConflict(): Promise<void> {
		try {
			known = await client.getMemory(path.value.trim(), { ...holder, signal });
			path.readOnly = true;
			const now = element('p', 'card-text', known.text);
			said.replaceChildren(element('div', 'failure', 'Somebody has written this meanwhile. Save replaces it:', now));
		} catch (error) {
			if (signal.aborted) return;
			const isGone = error instanceof ClientError && error.code === 'not_found';
			if (isGone) known = undefined;
			said.replaceChildren(
				isGone
					? element('div', 'failure', 'Somebody has removed it meanwhile. Save writes it anew.')
					: createFailure(error, () => void showConflict()),
			);
		}
		said.firstElementChild?.setAttribute('role', 'alert');
	}

	form.addEventListener('submit', (event) => {
		event.preventDefault();
		void write();
	});
	form.addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') onLeft();
	});
	return form;
}
