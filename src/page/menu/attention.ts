/** Says in the title, the icon and notifications of the page that something waits, or that an answer is ready. */

import type { RunEvent } from '../../client/index.ts';
import { button, configure, element, find } from '../parts/element.ts';

/** The entry of this browser that says whether a person wants notifications. */
const key = 'runlet-notify';

/** The dot in the corner of the icon, in the form of the icon's address. */
const dot = "%3Ccircle cx='18' cy='6' r='5' fill='%23d9480f' stroke='none'/%3E";
const end = '%3C/svg%3E';

export function createAttention() {
	const name = document.title;
	const icon = find('link[rel="icon"]', HTMLLinkElement);
	const plain = icon.href;
	let waiting = 0;
	/** What happened while nobody saw the page. */
	let news = '';

	function show(): void {
		const count = waiting === 0 ? '' : `(${waiting}) `;
		document.title = count + (news === '' ? name : `${news} · ${name}`);
		const href = count === '' && news === '' ? plain : plain.replace(end, dot + end);
		if (icon.href !== href) icon.href = href;
	}

	document.addEventListener('visibilitychange', () => {
		if (document.hidden) return;
		news = '';
		show();
	});

	return {
		/** Shows how many calls wait for a person. */
		setWaiting(count: number): void {
			waiting = count;
			show();
		},
		/** Announces the end of a run, unless somebody sees the page. */
		note(event: RunEvent): void {
			const words = describeEnd(event);
			if (words === undefined || !document.hidden) return;
			news = words;
			show();
			if (isWanted()) notify(name, words);
		},
	};
}

function describeEnd({ type }: RunEvent): string | undefined {
	if (type === 'awaiting') return 'Something waits for you';
	if (type === 'done') return 'The answer is ready';
	return type === 'error' || type === 'halted' ? 'The run has stopped' : undefined;
}

function notify(title: string, body: string): void {
	const notification = new Notification(title, { body, tag: 'runlet' });
	notification.onclick = () => {
		window.focus();
		notification.close();
	};
}

function isWanted(): boolean {
	return 'Notification' in window && Notification.permission === 'granted' && localStorage.getItem(key) === 'on';
}

/** Makes the switch of the notifications. Only its click asks the browser for the permission. */
export function createNotifySwitch(): HTMLElement | undefined {
	if (!('Notification' in window)) return undefined;
	const status = configure(element('small', 'about'), { role: 'status' });
	const control = configure(
		button('menu-action', 'Notify me', () => void change()),
		{ role: 'switch', title: 'Notify me when an answer is ready, or when something waits for me' },
	);

	function show(): void {
		control.ariaChecked = `${isWanted()}`;
	}

	async function change(): Promise<void> {
		const isOn = isWanted();
		status.textContent = '';
		if (!isOn && (await Notification.requestPermission()) !== 'granted')
			status.textContent = 'The browser forbids it. Allow notifications in the settings of this site.';
		localStorage.setItem(key, isOn ? 'off' : 'on');
		show();
	}

	show();
	return element('div', '', control, status);
}
