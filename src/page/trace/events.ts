/**
 * Shows the events of a session as they arrive, each with its JSON, and with its time if the time is known. A filter hides
 * the events of a type.
 */

import type { RunEvent } from '../../client/types.ts';
import { button, configure, element, shorten, withoutTurns } from '../parts/element.ts';

/** The maximum number of events that are shown. They are the newest events. */
const mostEvents = 1_000;
/** The maximum number of characters that an event's line shows. */
const longestBrief = 160;
/** Formats times with milliseconds, in the time zone of the reader. */
const clock = new Intl.DateTimeFormat('en', {
	...({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const),
	fractionalSecondDigits: 3,
});

/** `toCurl` returns the shell command that reads the same events. */
export function createEventList(toCurl: () => string) {
	const types = configure(element('div', 'event-types'), {
		role: 'group',
		ariaLabel: 'Types of events that are shown',
	});
	const list = element('ol', 'events');
	const nothing = element('p', 'nothing', 'No event has come yet.');
	const root = element('div', 'event-list', createCopy(toCurl), types, nothing, list);
	const filters = new Map<string, ReturnType<typeof createFilter>>();
	let queue: HTMLElement[] = [];
	let frame = 0;

	function draw(): void {
		frame = 0;
		list.append(...queue);
		queue = [];
		while (list.childElementCount > mostEvents) list.firstElementChild?.remove();
	}

	function findFilter(type: string) {
		const known = filters.get(type);
		if (known !== undefined) return known;
		const filter = createFilter(type, (isShown) => {
			for (const line of list.querySelectorAll<HTMLElement>(':scope > li'))
				if (line.dataset.type === type) line.hidden = !isShown;
		});
		filters.set(type, filter);
		types.append(filter.root);
		return filter;
	}

	function clear(): void {
		cancelAnimationFrame(frame);
		frame = 0;
		queue = [];
		filters.clear();
		types.replaceChildren();
		list.replaceChildren();
	}

	return {
		root,
		clear,
		/** Shows an event in the next frame. `at` is its time in milliseconds since 1970. */
		push(event: RunEvent, id: string | undefined, at: number | undefined): void {
			const filter = findFilter(event.type);
			filter.count();
			const line = createLine(event, id, at);
			line.hidden = !filter.isShown();
			queue.push(line);
			if (queue.length > mostEvents) queue.shift();
			frame ||= requestAnimationFrame(draw);
		},
	};
}

function createLine(event: RunEvent, id: string | undefined, at: number | undefined): HTMLElement {
	const { type, ...data } = event;
	const json = JSON.stringify(data);
	const brief = element('span', 'brief', shorten(json, longestBrief));
	const time = at === undefined ? element('span', 'at') : createTime(at);
	const box = element('details', '', element('summary', '', time, element('b', '', type), brief));
	box.addEventListener('toggle', () => {
		if (box.open && box.querySelector('pre') === null)
			box.append(element('pre', '', withoutTurns(`id: ${id ?? ''}\n${JSON.stringify(event, undefined, 2)}`)));
	});
	const line = element('li', '', box);
	line.dataset.type = type;
	return line;
}

function createTime(at: number): HTMLElement {
	const title = 'When it was stored, or when it came to this page';
	return configure(element('time', 'at', clock.format(at)), { dateTime: new Date(at).toISOString(), title });
}

function createFilter(type: string, onChange: (isShown: boolean) => void) {
	let count = 0;
	let isShown = true;
	const number = element('span', 'number');
	const root = button('filter', type, () => {
		isShown = !isShown;
		root.ariaPressed = `${isShown}`;
		onChange(isShown);
	});
	root.append(' ', number);
	root.ariaPressed = 'true';
	return {
		root,
		isShown: () => isShown,
		count: () => {
			count += 1;
			number.textContent = count.toLocaleString('en');
		},
	};
}

function createCopy(toCurl: () => string): HTMLElement {
	const status = configure(element('span', 'about'), { role: 'status' });
	const copy = button('action', 'Copy as curl', async () => {
		await navigator.clipboard.writeText(toCurl());
		status.textContent = 'Copied.';
	});
	copy.addEventListener('blur', () => {
		status.textContent = '';
	});
	return element('p', '', copy, status);
}
