/** Schedules: the next time, the result of the last run, and a form for a new schedule of a session. */

import type { Schedule, ScheduleBody } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createRemoval } from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createAge } from '../parts/time.ts';

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

/** Makes the entry of a schedule. One that an agent's code has is removed there. */
function createEntry(schedule: Schedule, titles: ReadonlyMap<string, string>, { client, signal }: Place): HTMLElement {
	const { id, name, agent = '', session, text } = schedule;
	const who = session === undefined ? agent : link('', toSessionAddress(session), titles.get(session) ?? 'a session');
	const head = element('p', 'card-head', element('span', 'title', name), element('span', 'about', 'wakes ', who));
	const entry = element('li', 'card', head, element('p', 'when', ...describeTimes(schedule)));
	if (text !== undefined) entry.append(element('p', 'card-text', text));
	entry.append(...createLast(schedule));
	async function remove(): Promise<void> {
		try {
			await client.cancelSchedule(id, { signal });
			entry.remove();
		} catch (error) {
			if (!signal.aborted) entry.append(createFailure(error, () => void remove()));
		}
	}
	if (session !== undefined)
		head.append(
			element(
				'span',
				'actions',
				createRemoval(name, () => void remove(), 'Remove'),
			),
		);
	return entry;
}

/** Says when a schedule wakes, and when next. */
function describeTimes({ cron, every, at, timezone = 'UTC', nextAt }: Schedule): (Node | string)[] {
	const rule = cron === undefined ? `every ${every}` : `at ${cron}, ${timezone}`;
	const when = at === undefined ? rule : `once, ${new Date(at).toLocaleString()}`;
	return nextAt === undefined ? [when, ' · over'] : [when, ' · next ', createAge(nextAt)];
}

const words = { ran: 'Ran ', skipped: 'Skipped ', failed: 'Failed ' } as const;

/** Describes the result of the last run. */
function createLast({ last }: Schedule): HTMLElement[] {
	if (last === undefined) return [];
	const { at, outcome, sessionId, reason } = last;
	const run = sessionId === undefined ? [] : [' · ', link('', toSessionAddress(sessionId), 'open')];
	const why = reason === undefined ? [] : [`: ${reason}`];
	const line = element('p', 'last about', words[outcome], createAge(at), ...why, ...run);
	line.dataset.outcome = outcome;
	return [line];
}

/** The ways to say when, and an example of each. */
const ways = {
	every: ['Every', '30m, 12h, 1d or 2w'],
	cron: ['Cron', '0 9 * * 1-5'],
	at: ['Once', ''],
} as const;

type Way = keyof typeof ways;

const toWay = (value: string): Way => (value === 'cron' || value === 'at' ? value : 'every');

/** Makes the form of a new schedule for a session. The panel is shown again once it is stored. */
function createForm(titles: ReadonlyMap<string, string>, { client, signal, again }: Place): HTMLFormElement {
	const session = createSelect('Session', titles);
	const way = createSelect('When', new Map(Object.entries(ways).map(([value, [label]]) => [value, label])));
	const time = createInput('Time', ways.every[1]);
	const name = createInput('Name', 'morning-look');
	const text = element('textarea');
	text.required = true;
	text.rows = 2;
	text.placeholder = 'What the session is told then';
	text.setAttribute('aria-label', 'Message');
	const keep = element('button', 'retry yes', 'Save');
	const said = element('div');
	const form = element(
		'form',
		'card-form',
		session,
		name,
		way,
		time,
		text,
		said,
		keep,
		button('retry', 'Cancel', again),
	);
	form.setAttribute('aria-label', 'A new schedule');

	way.addEventListener('change', () => {
		const chosen = toWay(way.value);
		time.type = chosen === 'at' ? 'datetime-local' : 'text';
		time.placeholder = ways[chosen][1];
		time.value = '';
	});
	async function write(): Promise<void> {
		keep.disabled = true;
		const about = { session: session.value, name: name.value.trim(), text: text.value };
		try {
			await client.putSchedule({ ...about, ...readTime(toWay(way.value), time.value.trim()) }, { signal });
			again();
		} catch (error) {
			if (!signal.aborted) said.replaceChildren(createFailure(error, () => void write()));
			keep.disabled = false;
		}
	}
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		void write();
	});
	return form;
}

/** Reads a time as the reader of the page means it: in the time zone of this device. */
function readTime(way: Way, value: string): Pick<ScheduleBody, 'cron' | 'every' | 'at' | 'timezone'> {
	if (way === 'at') return { at: new Date(value).toISOString() };
	if (way === 'every') return { every: value };
	return { cron: value, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

function createInput(label: string, placeholder: string): HTMLInputElement {
	const input = element('input');
	input.required = true;
	input.placeholder = placeholder;
	input.setAttribute('aria-label', label);
	return input;
}

function createSelect(label: string, entries: ReadonlyMap<string, string>): HTMLSelectElement {
	const select = element('select');
	select.setAttribute('aria-label', label);
	for (const [value, text] of entries) {
		const option = element('option', '', text);
		option.value = value;
		select.append(option);
	}
	return select;
}
