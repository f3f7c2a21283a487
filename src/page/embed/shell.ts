/** What is around the chat in the element: its head, the notice of a lost network, and the button in the corner. */

import { say } from '../../client/say.ts';
import { createFrame } from '../chat/frame.ts';
import { button, configure, element } from '../parts/element.ts';
import { createIcon, createIconButton } from '../parts/icon.ts';
import type { Settings } from './settings.ts';

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
