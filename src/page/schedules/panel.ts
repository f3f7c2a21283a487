/** What wakes agents and sessions by itself: when next, what became of the last time, and new ones for sessions. */

import { button, element } from '../parts/element.ts';
import type { Panel } from '../parts/panel.ts';
import { createEntry } from './entry.ts';
import { createForm } from './form.ts';

/** Sessions that a new schedule may wake: the newest. */
const mostSessions = 100;

export const schedules: Panel = {
	name: 'schedules',
	title: 'Schedules',
	about: 'What wakes agents and sessions by itself, and when.',
	async open(root, place) {
		const { client, signal } = place;
		const [all, { sessions }] = await Promise.all([
			client.listSchedules({ signal }),
			client.listSessions({ limit: mostSessions, signal }),
		]);
		const titles = new Map(sessions.map(({ id, title = 'A session without a title' }) => [id, title]));
		const list = element('ul', 'cards', ...all.map((one) => createEntry(one, titles, place)));
		const nothing = element('p', 'nothing', 'Nothing is scheduled.');
		nothing.hidden = list.hasChildNodes();
		const add = button('', 'New…', () => {
			list.prepend(element('li', 'card', createForm(titles, place)));
			nothing.hidden = true;
			add.disabled = true;
			list.querySelector('select')?.focus();
		});
		add.disabled = titles.size === 0;
		if (add.disabled) add.title = 'A schedule wakes a session: begin a chat first.';
		root.append(element('div', 'tools', add), nothing, list);
	},
};
