/** A session in the table: what it is about, how it stands, and what can be done with it. */

import type { ListedSession, Session } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { createAction, createRemoval } from '../parts/action.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge } from '../parts/age.ts';
import { element, link } from '../parts/element.ts';
import { createForm, createTextField } from '../parts/form.ts';
import type { Place } from '../parts/panel.ts';
import { save } from '../parts/save.ts';

export function createRow(listed: ListedSession, place: Place): HTMLElement {
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
	// An aid: where it cannot be read, the row has its other columns.
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
