/** The elements of a chat. The other modules find them by their ids. */

import { say } from '../../client/say.ts';
import { button, configure, element } from '../parts/element.ts';
import { createIcon } from '../parts/icon.ts';

export function createFrame(): HTMLElement[] {
	return [createScroller(), createBar(), createComposerForm(), createSide()];
}

function createScroller(): HTMLElement {
	const examples = element('fieldset', '', element('legend', '', say('Try one of these, or write your own:')));
	const welcome = element(
		'section',
		'',
		configure(element('p'), { id: 'welcome-intro', hidden: true }),
		configure(element('h2'), { id: 'welcome-name' }),
		configure(element('p'), { id: 'welcome-description' }),
		configure(element('dl'), { id: 'welcome-facts' }),
		configure(examples, { id: 'examples', hidden: true }),
		configure(element('div'), { id: 'welcome-more' }),
	);
	const transcript = configure(element('div'), { id: 'transcript', role: 'log', ariaLabel: say('Conversation') });
	transcript.ariaLive = 'polite';
	const scroller = element(
		'div',
		'',
		configure(welcome, { id: 'welcome', hidden: true }),
		configure(element('div'), { id: 'earlier', hidden: true }),
		transcript,
		element(
			'div',
			'foot',
			configure(createButton('latest', ''), { hidden: true }),
			configure(element('ul'), { id: 'waiting', ariaLabel: say('Messages that wait'), hidden: true }),
		),
	);
	return configure(scroller, { id: 'scroller' });
}

function createBar(): HTMLElement {
	return configure(element('ul'), { id: 'pane-bar', ariaLabel: say('What the chat works on'), hidden: true });
}

function createSide(): HTMLElement {
	return configure(element('aside'), { id: 'pane', ariaLabel: say('What the chat works on'), hidden: true });
}

function createComposerForm(): HTMLElement {
	const picker = configure(element('input'), { id: 'picker', type: 'file', multiple: true, hidden: true });
	const attach = configure(createButton('attach', '', say('Attach files: up to 16, 2.8 MB together')), {
		ariaLabel: say('Attach files'),
	});
	attach.append(createIcon('attach'));
	const text = configure(element('textarea'), { id: 'text', rows: 1, ariaLabel: say('Message') });
	configure(text, { placeholder: say('Write a message'), enterKeyHint: 'send' });
	const send = configure(element('button', 'primary', say('Send')), { id: 'send' });
	const stop = configure(createButton('stop', say('Stop')), { hidden: true });
	const hint = element('p', 'hint', element('kbd', '', 'Enter'), say(' sends, '));
	hint.append(element('kbd', '', 'Shift+Enter'), say(' starts a new line'));
	const meanwhile = element(
		'p',
		'',
		createButton('queue', say('Queue'), say('Enter: it is answered when the run has ended')),
		' ',
		createButton('steer', say('Steer'), say('Ctrl+Enter: the run takes it up before its next turn')),
	);
	const status = configure(element('p'), { id: 'status', role: 'status' });
	const form = element(
		'form',
		'',
		configure(element('ul', 'files'), { id: 'files', ariaLabel: say('Files to send'), hidden: true }),
		configure(element('p'), { id: 'files-note', role: 'status', hidden: true }),
		configure(element('p'), { id: 'agent-offer', role: 'status', hidden: true }),
		element('div', 'field', picker, attach, text, send, stop),
		element('div', 'below', status, hint, configure(meanwhile, { id: 'meanwhile', hidden: true })),
	);
	return configure(form, { id: 'composer' });
}

function createButton(id: string, label: string, title = ''): HTMLButtonElement {
	return configure(
		button('', label, () => {}),
		{ id, title },
	);
}
