/** What is around the chat in the element: its head, the notice of a lost network, and the button in the corner. */

import { say } from '../../client/say.ts';
import { createFrame } from '../chat/frame.ts';
import { button, configure, element, svg } from '../parts/element.ts';
import type { Settings } from './settings.ts';

const paths = {
	pen: 'M12 20h8M16.2 4.3a2 2 0 0 1 3 2.7L7.8 18.6 4 19.6l1-3.9z',
	down: 'm6 9.5 6 6 6-6',
	bubble: 'M20 11.5a7.5 7.5 0 0 1-11 6.6L4 19.5l1.4-4.6A7.5 7.5 0 1 1 20 11.5z',
};

function createIcon(name: keyof typeof paths, className = ''): SVGSVGElement {
	const path = svg('path', { d: paths[name], 'stroke-linejoin': 'round' });
	return svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: className }, path);
}

interface Actions {
	/** Missing where a visitor cannot begin a new chat. */
	readonly onNew: (() => void) | undefined;
	readonly onToggle: () => void;
	readonly life: AbortSignal;
}

export function createShell({ heading, logo, isPopup }: Settings, { onNew, onToggle, life }: Actions) {
	const title = heading ?? say('Chat');
	const picture = logo === undefined ? undefined : configure(element('img'), { src: logo, alt: '' });
	// The heading begins where the page's lines begin, in whatever language it is.
	const name = element('h2', '', element('bdi', '', title));
	const anew = onNew && createIconButton('pen', say('New chat'), onNew);
	const close = isPopup ? createIconButton('down', say('Close'), onToggle) : undefined;
	const chat = configure(element('section', '', ...createFrame()), { id: 'chat', ariaLabel: title });
	const box = element('div', 'embedded', element('header', '', picture, name, anew, close), createOffline(life), chat);
	// The page of Runlet has a notice in the row above the conversation.
	chat.prepend(element('div'));
	const launcher = isPopup ? createLauncher(title, onToggle) : undefined;
	if (isPopup) configure(box, { role: 'dialog', ariaLabel: title });
	return { root: element('div', 'shield', box, launcher), box, launcher };
}

function createIconButton(icon: keyof typeof paths, label: string, onClick: () => void): HTMLButtonElement {
	const control = configure(button('', '', onClick), { ariaLabel: label, title: label });
	control.append(createIcon(icon));
	return control;
}

function createLauncher(label: string, onClick: () => void): HTMLButtonElement {
	const launcher = configure(button('launcher', '', onClick), { ariaLabel: label });
	launcher.append(createIcon('bubble', 'opens'), createIcon('down', 'closes'));
	return launcher;
}

function createOffline(life: AbortSignal): HTMLElement {
	const words = say('This device is offline. What runs goes on at the server.');
	const notice = configure(element('p', 'offline', words), { role: 'status' });
	const show = (): void => {
		notice.hidden = navigator.onLine;
	};
	addEventListener('online', show, { signal: life });
	addEventListener('offline', show, { signal: life });
	show();
	return notice;
}
