/** A session in the table: what it is about, how it stands, and what can be done with it. */

import type { ListedSession, Session } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { createAction, createRemoval } from '../parts/action.ts';
import { toSessionAddress } from '../parts/address.ts';
import { createAge } from '../parts/age.ts';
import { element, link } from '../parts/element.ts';
import type { Place } from '../parts/panel.ts';
import { save } from '../parts/save.ts';

export function createRow(listed: ListedSession, place: Place): HTMLElement {
	const { id, agent, title = 'No message yet', lastActivityAt } = listed;
	const { client, signal, changed } = place;
	const status = element('td', 'status');
	const cost = element('td', 'cost');
	const actions = element('td', 'actions');
	const row = element(
		'tr',
		'',
		element('th', '', link('title', toSessionAddress(id), title)),
		element('td', '', agent),
		status,
		cost,
		element('td', '', createAge(lastActivityAt)),
		actions,
	);

	actions.append(
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
