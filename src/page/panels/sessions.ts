/** All sessions of the owner: found, opened, copied, saved and removed. */

import type { ListedSession, Session } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, element, link, save } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createAction, createForm, createRemoval, createTextField } from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createAge } from '../parts/time.ts';

/** Sessions of a page. Each that is shown is asked for its status and cost. */
const pageLength = 20;
/** A search looks at so many of the newest sessions. */
const mostSearched = 500;

export const sessions: Panel = {
	name: 'sessions',
	title: 'Sessions',
	about: 'All conversations, the newest activity first.',
	async open(root, place) {
		const rows = element('tbody');
		const nothing = element('p', 'nothing', 'No session was found.');
		const more = button('more', 'Show more', () => void showMore().catch(fail));
		const search = createSearch((words) => void find(words).catch(fail));
		let cursor: string | undefined;
		let searching = new AbortController();
		const known = new Map<string, string>();

		function fail(error: unknown): void {
			if (!place.signal.aborted) root.append(createFailure(error, place.again));
		}
		function show(sessions: readonly ListedSession[], next: string | undefined): void {
			rows.append(...sessions.map(toRow));
			cursor = next;
			more.hidden = next === undefined;
			nothing.hidden = rows.hasChildNodes();
		}
		const findRow = (id: string) => rows.querySelector<HTMLElement>(`[data-session="${CSS.escape(id)}"]`);
		/** Makes a row; one whose session is as it was stays, and so does one in which a person writes. */
		function toRow(session: ListedSession): HTMLElement {
			const [row, entry] = [findRow(session.id), JSON.stringify(session)];
			if (row !== null && (known.get(session.id) === entry || row.querySelector('form') !== null)) return row;
			row?.remove();
			known.set(session.id, entry);
			return createRow(session, place);
		}
		/** Moves changed sessions to the front. */
		async function lookAgain(): Promise<void> {
			if (search.value.trim() !== '') return;
			const page = await place.client.listSessions({ limit: pageLength, signal: place.signal });
			if (place.signal.aborted || search.value.trim() !== '') return;
			const listed = new Set(page.sessions.map(({ id }) => id));
			for (const [at, session] of page.sessions.entries()) {
				const row = toRow(session);
				if (rows.children[at] !== row) rows.insertBefore(row, rows.children[at] ?? null);
			}
			// Where there are no others, the rest was removed.
			if (page.cursor === undefined) for (const id of known.keys()) if (!listed.has(id)) findRow(id)?.remove();
			nothing.hidden = rows.hasChildNodes();
		}
		async function showMore(): Promise<void> {
			more.disabled = true;
			const page = await place.client.listSessions({ limit: pageLength, cursor, signal: place.signal });
			more.disabled = false;
			show(page.sessions, page.cursor);
		}
		async function find(words: string): Promise<void> {
			searching.abort();
			searching = new AbortController();
			const { signal } = searching;
			if (words === '') {
				rows.replaceChildren();
				cursor = undefined;
				return showMore();
			}
			const found = await searchSessions(place, words);
			if (signal.aborted || place.signal.aborted) return;
			rows.replaceChildren();
			show(found, undefined);
		}

		await showMore();
		place.onNews(lookAgain);
		const head = ['Title', 'Agent', 'Status', 'Cost', 'Active', ''].map((text) => element('th', '', text));
		for (const cell of head) cell.scope = 'col';
		const table = element('table', 'sessions', element('thead', '', element('tr', '', ...head)), rows);
		root.append(element('div', 'tools', search, createImport(place)), table, nothing, more);
	},
};

function createSearch(onWords: (words: string) => void): HTMLInputElement {
	const field = element('input', 'search');
	field.type = 'search';
	field.placeholder = 'Search titles and agents';
	field.setAttribute('aria-label', 'Search sessions');
	field.addEventListener('input', () => onWords(field.value.trim().toLowerCase()));
	return field;
}

/** Finds the newest sessions whose title or agent has all the words. */
async function searchSessions({ client, signal }: Place, words: string): Promise<ListedSession[]> {
	const all: ListedSession[] = [];
	for (let cursor: string | undefined; all.length < mostSearched; ) {
		const page = await client.listSessions({ limit: 100, cursor, signal });
		all.push(...page.sessions);
		cursor = page.cursor;
		if (cursor === undefined) break;
	}
	const parts = words.split(/\s+/);
	return all
		.filter(({ title = '', agent }) => parts.every((part) => `${title} ${agent}`.toLowerCase().includes(part)))
		.slice(0, pageLength);
}

/** Makes a button that makes a session of a file that was exported. */
function createImport({ client, signal }: Place): HTMLElement {
	const picker = element('input');
	picker.type = 'file';
	picker.accept = 'application/json';
	picker.hidden = true;
	const box = element(
		'div',
		'import',
		button('', 'Import…', () => picker.click()),
		picker,
	);
	picker.addEventListener('change', async () => {
		const [file] = picker.files ?? [];
		if (file === undefined) return;
		box.querySelector('.failure')?.remove();
		try {
			const { id } = await client.importSession(JSON.parse(await file.text()), { signal });
			location.hash = toSessionAddress(id);
		} catch (error) {
			const text = error instanceof SyntaxError ? 'This file is no export of a session.' : undefined;
			box.append(text === undefined ? createFailure(error, () => {}) : element('p', 'failure', text));
		}
		picker.value = '';
	});
	return box;
}

function createRow(listed: ListedSession, place: Place): HTMLElement {
	const { id, agent, title = 'No message yet', lastActivityAt } = listed;
	const { client, signal, changed } = place;
	const status = element('td', 'status');
	const cost = element('td', 'cost');
	const actions = element('td', 'actions');
	const name = element('th', '', link('title', toSessionAddress(id), title));
	const row = element(
		'tr',
		'',
		name,
		element('td', '', agent),
		status,
		cost,
		element('td', '', createAge(lastActivityAt)),
		actions,
	);

	row.dataset.session = id;
	actions.append(
		createAction('Rename', title, () => {
			const form = createRename(title, async (newer) => {
				await client.changeSession(id, { title: newer }, { signal });
				row.replaceWith(createRow({ ...listed, title: newer }, place));
				changed();
			});
			name.replaceChildren(form);
			form.querySelector('input')?.select();
			form.addEventListener('keydown', ({ key }) => {
				if (key === 'Escape') row.replaceWith(createRow(listed, place));
			});
		}),
		createAction('Fork', title, async () => {
			location.hash = toSessionAddress((await client.forkSession(id, { signal })).id);
		}),
		createAction('Export', title, async () => {
			const exported = JSON.stringify(await client.exportSession(id, { signal }));
			save(`session-${id.slice(0, 12)}.json`, new Blob([exported], { type: 'application/json' }));
		}),
		createRemoval(title, async () => {
			await client.deleteSession(id, { signal });
			row.remove();
			changed();
		}),
	);
	// If it cannot be read, the row has its other columns.
	void client.getSession(id, { signal }).then(
		(session) => {
			status.replaceChildren(createStatus(session));
			cost.textContent = describeMoney(session.budget.spent);
		},
		() => {},
	);
	return row;
}

function createRename(title: string, onName: (title: string) => Promise<void>): HTMLFormElement {
	const field = createTextField(title);
	field.maxLength = 200;
	field.required = true;
	field.setAttribute('aria-label', 'Title of the session');
	return createForm('Save', [field], () => onName(field.value.trim() || title));
}

const wordsOfStatus: Readonly<Record<Session['status'], string>> = {
	idle: 'new',
	running: 'running',
	awaiting_user: 'asks you',
	awaiting_tools: 'waits for you',
	completed: 'done',
	error: 'failed',
};

function createStatus({ status }: Session): HTMLElement {
	const mark = element('span', 'state', wordsOfStatus[status]);
	mark.dataset.state = status;
	return mark;
}
