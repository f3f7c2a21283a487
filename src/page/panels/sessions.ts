/** All sessions of the owner. A person can search, open, copy, export and remove them. */

import type { Client, ListedSession, NewSession, Session } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { fork } from '../chat/fork.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, createTable, element, link, save } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createAction, createForm, createRemoval, createSearchField, createTextField } from '../parts/form.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';
import { createAge } from '../parts/time.ts';

const pageLength = 20;
/** Milliseconds after the last letter until a search begins. */
const searchAfterMs = 200;
/** The maximum length of a search by the server. */
const mostWords = 200;

export const sessions: Panel = {
	name: 'sessions',
	right: 'listSessions',
	title: 'Sessions',
	about: 'All conversations, the newest activity first.',
	async open(root, place) {
		const columns = ['Title', 'Agent', 'Status', 'Cost', 'Active', ''];
		const table = createTable('sessions', columns, []);
		const [rows = element('tbody')] = table.tBodies;
		const search = createSearchField('Search sessions', 'Search titles and contents');
		const readWords = () => search.value.trim().toLowerCase();
		/** The list entries of the shown sessions as JSON, by session id. */
		const known = new Map<string, string>();
		const pages = createPages(
			place,
			(cursor) => {
				const q = readWords().slice(0, mostWords) || undefined;
				return place.client.listSessions({ q, details: 'true', limit: pageLength, cursor, signal: place.signal });
			},
			({ sessions }, isFirst) => {
				if (isFirst) rows.replaceChildren();
				rows.append(...sessions.map(toRow));
			},
		);
		let timer: ReturnType<typeof setTimeout> | undefined;
		search.addEventListener('input', () => {
			clearTimeout(timer);
			timer = setTimeout(pages.reload, searchAfterMs);
		});

		const findRow = (id: string) => rows.querySelector<HTMLElement>(`[data-session="${CSS.escape(id)}"]`);
		/** Returns a session's row. Keeps the shown row if nothing has changed, or if a person is writing in it. */
		function toRow(session: ListedSession): HTMLElement {
			const [row, entry] = [findRow(session.id), JSON.stringify(session)];
			if (row !== null && (known.get(session.id) === entry || row.querySelector('form') !== null)) return row;
			row?.remove();
			known.set(session.id, entry);
			return createRow(session, place);
		}
		/** Reads the first page again, and moves the changed sessions to the front. */
		async function lookAgain(): Promise<void> {
			if (readWords() !== '') return;
			const page = await place.client.listSessions({ details: 'true', limit: pageLength, signal: place.signal });
			if (place.signal.aborted || readWords() !== '') return;
			const listed = new Set(page.sessions.map(({ id }) => id));
			const restoreFocus = noteFocus(rows);
			for (const [at, session] of page.sessions.entries()) {
				const row = toRow(session);
				if (rows.children[at] !== row) rows.insertBefore(row, rows.children[at] ?? null);
			}
			// This page has all sessions, so a session that is not in it was removed.
			if (page.cursor === undefined) for (const id of known.keys()) if (!listed.has(id)) findRow(id)?.remove();
			restoreFocus();
		}

		await pages.load();
		place.onNews(lookAgain);
		const nothing = element(
			'p',
			'nothing',
			'No session was found. What was said is searched if its agent has searchContents.',
		);
		const adding = place.viewer.may('importSession') ? createImport(place) : undefined;
		root.append(element('div', 'tools', search, adding), table, nothing, pages.more, pages.failures);
	},
};

/** Notes the control that has the focus. Returns a function that focuses the control after its row was drawn again. */
function noteFocus(rows: HTMLElement): () => void {
	const { activeElement } = document;
	const id = activeElement?.closest<HTMLElement>('[data-session]')?.dataset.session ?? '';
	const listControls = (): Element[] => [
		...rows.querySelectorAll(`[data-session="${CSS.escape(id)}"] :is(a, button, input)`),
	];
	const at = activeElement === null ? -1 : listControls().indexOf(activeElement);
	return () => {
		const control = listControls()[at];
		if (control instanceof HTMLElement && control !== document.activeElement) control.focus({ preventScroll: true });
	};
}

function createImport({ client, signal }: Place): HTMLElement {
	const picker = configure(element('input'), { type: 'file', accept: '.json,.ndjson', hidden: true });
	const open = button('', 'Import…', () => picker.click());
	const progress = configure(element('progress'), { hidden: true, ariaLabel: 'Import' });
	const box = element('div', 'import', open, progress, picker);
	picker.addEventListener('change', async () => {
		const [file] = picker.files ?? [];
		if (file === undefined) return;
		box.querySelector('.failure')?.remove();
		configure(progress, { hidden: false, max: file.size, value: 0 });
		open.disabled = true;
		try {
			const { id } = await importFile(client, file, signal, (bytes) => configure(progress, { value: bytes }));
			location.hash = toSessionAddress(id);
		} catch (error) {
			const isJson = !(error instanceof SyntaxError);
			box.append(
				isJson ? createFailure(error, () => {}) : element('p', 'failure', 'This file is no export of a session.'),
			);
		}
		progress.hidden = true;
		open.disabled = false;
		picker.value = '';
	});
	return box;
}

/** Imports lines, or one JSON document. Throws a `SyntaxError` for another file. */
async function importFile(
	client: Client,
	file: File,
	signal: AbortSignal,
	onProgress: (bytes: number) => void,
): Promise<NewSession> {
	const [first = '', ...others] = (await file.slice(0, 1_000_000).text()).split('\n');
	// A document can be one long line, or have many lines, of which the first is no whole JSON value.
	const hasLines = others.some((line) => line !== '') && first.trimEnd().endsWith('}');
	if (!hasLines) return client.importSession(JSON.parse(await file.text()), { signal });
	JSON.parse(first);
	return client.importLines(file, { signal, onProgress });
}

function createRow(listed: ListedSession, place: Place): HTMLElement {
	const { id, agent, title = 'No message yet', lastActivityAt, excerpt, status, spent } = listed;
	const { client, signal, changed } = place;
	const name = element('th', '', link('title', toSessionAddress(id), title));
	if (excerpt !== undefined) name.append(configure(element('p', 'about', excerpt), { dir: 'auto' }));
	const state = element('td', 'status', status && createStatus(status));
	const cost = element('td', 'cost', spent && describeMoney(spent));
	const age = element('td', '', createAge(lastActivityAt));
	const actions = element('td', 'actions');
	const row = element('tr', '', name, element('td', '', agent), state, cost, age, actions);
	row.dataset.session = id;
	if (!place.viewer.may('manageSession')) return row;
	const showNamed = (title?: string): void => {
		const next = createRow({ ...listed, title }, place);
		row.replaceWith(next);
		next.querySelector('button')?.focus();
	};
	actions.append(
		createAction('Rename', title, () => {
			const form = createRename(title, async (newer) => {
				await client.changeSession(id, { title: newer }, { signal });
				showNamed(newer);
				changed();
			});
			name.replaceChildren(form);
			form.querySelector('input')?.select();
			form.addEventListener('keydown', ({ key }) => {
				if (key === 'Escape') showNamed(listed.title);
			});
		}),
		createAction('Fork', title, async () => {
			location.hash = toSessionAddress(await fork(client, { id, signal }));
		}),
		createAction('Export', title, async () => {
			const parts: Blob[] = [];
			for await (const lines of client.exportLines(id, { signal })) parts.push(new Blob([lines]));
			save(`session-${id.slice(0, 12)}.ndjson`, new Blob(parts, { type: 'application/x-ndjson' }));
		}),
		createRemoval(title, async () => {
			await client.deleteSession(id, { signal });
			row.remove();
			changed();
		}),
	);
	return row;
}

function createRename(title: string, onName: (title: string) => Promise<void>): HTMLFormElement {
	const field = createTextField(title);
	configure(field, { maxLength: 200, required: true, ariaLabel: 'Title of the session' });
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

function createStatus(status: Session['status']): HTMLElement {
	const mark = element('span', 'state', wordsOfStatus[status]);
	mark.dataset.state = status;
	return mark;
}
