import type { ScheduleBody } from '../../client/index.ts';
import { button, element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Place } from '../parts/panel.ts';

/** The ways to say when, and an example of each. */
const ways = {
	every: ['Every', '30m, 12h, 1d or 2w'],
	cron: ['Cron', '0 9 * * 1-5'],
	at: ['Once', ''],
} as const;

type Way = keyof typeof ways;

const toWay = (value: string): Way => (value === 'cron' || value === 'at' ? value : 'every');

/** Makes the form of a new schedule for a session. The panel is shown again once it is stored. */
export function createForm(titles: ReadonlyMap<string, string>, { client, signal, again }: Place): HTMLFormElement {
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
