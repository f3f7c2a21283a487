/** The chat inside the element: shows the visitor's session, and keeps it in mind. */

import { createFeedbackClient } from '../../client/feedback.ts';
import { createHttp } from '../../client/http.ts';
import { createSessionClient } from '../../client/sessions.ts';
import type { RunEvent } from '../../client/types.ts';
import { Chat } from '../chat/chat.ts';
import { find } from '../parts/element.ts';
import { createAnswerWatch, createPolling } from '../parts/live.ts';
import { createEmbeddedChoice } from './choice.ts';
import { createDoor, findSession } from './door.ts';
import { createMemory } from './memory.ts';
import type { Settings } from './settings.ts';
import { createShell } from './shell.ts';

/** The API has the same base address as this script. */
const baseUrl = new URL('.', import.meta.url).href;

/** What the element tells the page around it (docs/embed.md, "Events"). */
export interface Events {
	/** A session is shown. Without an id, a new chat is shown, which has no session yet. */
	readonly 'runlet-session': { readonly id: string | undefined };
	readonly 'runlet-done': { readonly session: string | undefined; readonly text: string };
	readonly 'runlet-error': { readonly code: string; readonly message: string };
}

export type Tell = <Name extends keyof Events>(name: Name, detail: Events[Name]) => void;

export interface Widget {
	/** The button that opens the chat of a popup. */
	readonly launcher: HTMLButtonElement | undefined;
	/** The field for a message. */
	readonly text: HTMLTextAreaElement;
	/** Shows the chat. Nothing is asked of the server before. */
	readonly open: () => void;
	readonly startNew: () => void;
	/** Ends all requests. What runs goes on at the server. */
	readonly close: () => void;
}

export function createWidget(root: ShadowRoot, settings: Settings, tell: Tell, onToggle: () => void): Widget {
	const life = new AbortController();
	const { signal } = life;
	const { token, getToken, approvals } = settings;
	const fixed = settings.session ?? (getToken === undefined ? findSession(token) : undefined);
	const memory = createMemory(baseUrl, settings.agent ?? '', settings.user ?? '');
	let session = fixed ?? findSession(token) ?? memory.read();
	let isOpen = false;

	const door = createDoor({ token, getToken, readSession: () => session });
	const options = {
		baseUrl,
		fetch: createAnswerWatch(door.fetch, () => chat.showAnswer()),
		onRetry: () => chat.showRetry(),
	};
	const client = { ...createSessionClient(options), ...createFeedbackClient(createHttp(options)) };
	const shell = createShell(settings, { onNew: fixed === undefined ? startNew : undefined, onToggle, life: signal });
	root.replaceChildren(shell.root);
	const poll = createPolling((asksSession) => asksSession && chat.look(), signal);
	const chat: Chat = new Chat(client, {
		...{ root, life: signal, dropArea: shell.box, isEmbedded: true },
		mayDecide: () => approvals ?? !door.needsToken,
		createChoice: () => createEmbeddedChoice(client, door, settings),
		onSession: show,
		onNew: startNew,
		onActivity: poll,
		onEvent,
		onFailure({ code, message }) {
			tell('runlet-error', { code, message });
			// The session that this browser had is gone.
			if (code === 'not_found' && fixed === undefined) queueMicrotask(startNew);
		},
		renew: door.forget,
	});

	function show(id: string | undefined): void {
		session = id;
		if (fixed === undefined) memory.write(id);
		tell('runlet-session', { id });
	}

	function onEvent(event: RunEvent): void {
		if (event.type === 'done') tell('runlet-done', { session, text: event.text });
		if (event.type === 'error') tell('runlet-error', { code: event.code, message: event.message });
	}

	function startNew(): void {
		isOpen = true;
		door.forget();
		show(undefined);
		void chat.open();
	}

	/** Asks for a token first, because it can be one of another session than the browser had. */
	async function start(): Promise<void> {
		if (getToken !== undefined && session !== undefined)
			session = await door.ask(session).then(findSession, () => session);
		if (signal.aborted) return;
		if (session !== undefined) show(session);
		await chat.open(session);
	}

	return {
		launcher: shell.launcher,
		text: find('#text', HTMLTextAreaElement, root),
		open() {
			if (!isOpen) void start();
			isOpen = true;
		},
		startNew,
		close() {
			life.abort();
			chat.close();
		},
	};
}
