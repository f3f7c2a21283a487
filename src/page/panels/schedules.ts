/** Schedules: the next time, the result of the last wake-up, and a form for a new schedule. */

import type { Client, ListedSession, Schedule, ScheduleBody } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import {
	createAction,
	createCardForm,
	createField,
	createMistake,
	createRemoval,
	createTextArea,
	createTextField,
} from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createScheduleFacts } from '../parts/schedule.ts';

/** The maximum number of sessions that the form for a new schedule offers. They are the newest sessions. */
const mostSessions = 100;

export const schedules: Panel = {
	name: 'schedules',
	right: 'manageSession',
	title: 'Schedules',
	about: 'What wakes agents and sessions by itself, and when.',
	async open(root, place) {
		const { client, signal } = place;
		const [all, { sessions }] = await Promise.all([
			client.listSchedules({ signal }),
			client.listSessions({ limit: mostSessions, signal }),
		]);
		const titles = new Map(sessions.map(({ id, title = 'No message yet' }) => [id, title]));
		const choices = new Map(sessions.map((session) => [session.id, describeSession(session)]));
		const list = element('ul', 'cards', ...all.map((schedule) => createEntry(schedule, titles, place)));
		const add = button('', 'New…', () => {
			list.prepend(element('li', 'card', createForm(choices, place)));
			add.disabled = true;
			list.querySelector('select')?.focus();
		});
		add.disabled = titles.size === 0;
		if (add.disabled) add.title = 'A schedule wakes a session: begin a chat first.';
		root.append(element('div', 'tools', add), element('p', 'nothing', 'Nothing is scheduled.'), list);
	},
};

/** Sessions can have the same title, so the time tells them apart. */
function describeSession({ title = 'No message yet', agent, lastActivityAt }: ListedSession): string {
	return `${title} · ${agent} · ${new Date(lastActivityAt).toLocaleString()}`;
}

/** Only the schedules of sessions can be removed here. The schedules of agents are part of the code. */
function createEntry(schedule: Schedule, titles: ReadonlyMap<string, string>, { client, signal }: Place): HTMLElement {
	const { id, name, agent = '', session } = schedule;
	const who = session === undefined ? agent : link('', toSessionAddress(session), titles.get(session) ?? 'a session');
	const head = element('p', 'card-head', element('span', 'title', name), element('span', 'about', 'wakes ', who));
	const entry = element('li', 'card', head, ...createScheduleFacts(schedule));
	async function remove(): Promise<void> {
		try {
			await client.cancelSchedule(id, { signal });
			entry.remove();
		} catch (error) {
			if (!signal.aborted) entry.append(createFailure(error, () => void remove()));
		}
	}
	const removal = createRemoval(name, () => void remove(), 'Remove');
	const actions = [createRunNow(schedule, client, signal), ...(session === undefined ? [] : [removal])];
	head.append(element('span', 'actions', ...actions));
	return entry;
}

/** Makes the button that runs a schedule now, and opens its session. */
export function createRunNow({ id, name }: Schedule, client: Client, signal: AbortSignal): HTMLElement {
	return createAction('Run now', name, async () => {
		const { outcome, sessionId, reason = '' } = await client.runSchedule(id, { signal });
		if (outcome !== 'ran' || sessionId === undefined) throw createMistake(`Nothing ran: ${reason}.`);
		location.hash = toSessionAddress(sessionId);
	});
}

/** The kinds of time that a schedule can have, each with a label and an example. */
const ways = {
	every: ['Every', '30m, 12h, 1d or 2w'],
	cron: ['Cron', '0 9 * * 1-5'],
	at: ['Once', ''],
} as const;

type Way = keyof typeof ways;

const toWay = (value: string): Way => (value === 'cron' || value === 'at' ? value : 'every');

function createForm(choices: ReadonlyMap<string, string>, { client, signal, again }: Place): HTMLFormElement {
	const session = createSelect(choices);
	const way = createSelect(new Map(Object.entries(ways).map(([value, [label]]) => [value, label])));
	const time = configure(createTextField('', ways.every[1]), { required: true });
	const name = configure(createTextField('', 'morning-look'), { required: true });
	const text = configure(createTextArea('', 2), { required: true, placeholder: 'What the session is told then' });
	way.addEventListener('change', () => {
		const chosen = toWay(way.value);
		time.type = chosen === 'at' ? 'datetime-local' : 'text';
		time.placeholder = ways[chosen][1];
		time.value = '';
	});
	async function write(): Promise<void> {
		const about = { session: session.value, name: name.value.trim(), text: text.value };
		await client.putSchedule({ ...about, ...readTime(toWay(way.value), time.value.trim()) }, { signal });
		again();
	}
	const fields = [
		createField('Session', session),
		createField('Name', name, 'Small letters, digits and hyphens.'),
		createField('When', way),
		createField('Time', time),
		createField('Message', text),
	];
	return createCardForm('A new schedule', fields, write, again);
}

/** Converts a value of the form to the time of a schedule, in the time zone of this device. */
function readTime(way: Way, value: string): Pick<ScheduleBody, 'cron' | 'every' | 'at' | 'timezone'> {
	if (way === 'at') return { at: new Date(value).toISOString() };
	if (way === 'every') return { every: value };
	return { cron: value, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

function createSelect(entries: ReadonlyMap<string, string>): HTMLSelectElement {
	return element('select', '', ...[...entries].map(([value, text]) => new Option(text, value)));
}
