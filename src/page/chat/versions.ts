/** The earlier versions of a message, each with the conversation behind it (docs/sessions.md, "Say it in other words"). */

import chevronLeft from 'lucide/dist/esm/icons/chevron-left.mjs';
import chevronRight from 'lucide/dist/esm/icons/chevron-right.mjs';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';
import { configure, element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createIconButton } from '../parts/icon.ts';
import type { Visit } from '../parts/live.ts';
import type { MessageActions } from './message-end.ts';

/** The maximum number of messages of an earlier version that are shown. */
const mostShown = 200;

export type Versions = ReturnType<typeof createVersions>;

type Versioned = Pick<Message, 'id' | 'replaces' | 'version'>;

/** Draws the messages of an earlier version. `arrows` belong to its first message. */
type DrawVersion = (place: HTMLElement, messages: readonly Message[], arrows: HTMLElement) => void;

/** `root` has the conversation. */
export function createVersions(client: SessionClient, root: HTMLElement) {
	let visit: Visit | undefined;

	/** Reads an earlier version: its messages up to the next version. */
	async function read(id: string, next: Versioned): Promise<readonly Message[]> {
		if (visit === undefined) return [];
		const { messages } = await client.listLater(visit.id, { from: id, limit: mostShown, signal: visit.signal });
		return findVersion(messages, next.id);
	}

	return {
		use(next: Visit | undefined): void {
			visit = next;
		},

		/** Shows the newest versions again. */
		leave(): void {
			for (const old of root.querySelectorAll('.version')) old.remove();
			for (const hidden of root.querySelectorAll<HTMLElement>('[data-newer]')) showAgain(hidden);
		},

		/** Makes the arrows below the newest version of a message. Undefined if there is one version only. */
		create(
			newest: Versioned,
			bubble: HTMLElement,
			draw: DrawVersion,
			createFork: MessageActions['createFork'],
		): HTMLElement | undefined {
			const { version: total } = newest;
			if (total === undefined) return undefined;
			/** The version that is shown, and those after it, the newest first. */
			const chain: Versioned[] = [newest];

			function createArrows(at: number): HTMLElement {
				const shown = chain[at];
				const number = total === undefined ? 1 : total - at;
				const older = createIconButton(chevronLeft, say('Earlier version'), () => void show(at + 1, 'left'));
				const newer = createIconButton(chevronRight, say('Later version'), () => void show(at - 1, 'right'));
				older.disabled = shown?.replaces === undefined;
				newer.disabled = at === 0;
				const count = element('span', '', `${number}/${total}`);
				const words = say('Version {number} of {total}', { number, total: total ?? 1 });
				return configure(element('div', 'versions', older, count, newer), { role: 'group', ariaLabel: words });
			}

			async function show(at: number, pressed: 'left' | 'right'): Promise<void> {
				if (at === 0) {
					close(bubble);
					return focusArrow(bubble.nextElementSibling, pressed);
				}
				const next = chain[at - 1];
				const id = next?.replaces;
				if (next === undefined || id === undefined || visit === undefined) return;
				const { signal } = visit;
				const section = element('section', 'version');
				let top: Element = section;
				const replace = () => {
					close(bubble);
					hideFrom(bubble);
					bubble.parentElement?.append(section);
				};
				try {
					const messages = await read(id, next);
					const [first] = messages;
					if (first === undefined || signal.aborted) return;
					chain[at] = first;
					const words = say('An earlier version. New messages follow the newest one; fork to go on from here.');
					replace();
					draw(section, messages, createArrows(at));
					// The words stand below the arrows, so that these stay where they were pressed.
					top = section.querySelector('.message-end') ?? section;
					const fork = createFork?.({ id: (messages.at(-1) ?? first).id });
					top.after(element('p', 'version-head', words, fork));
				} catch (error) {
					if (signal.aborted) return;
					section.replaceChildren(createFailure(error, () => void show(at, pressed)));
					replace();
				}
				top.scrollIntoView({ block: 'nearest' });
				focusArrow(section.querySelector('.versions'), pressed);
			}

			return createArrows(0);
		},
	};
}

/** Returns the conversation behind a version, as it was before `next` took its place. */
function findVersion(all: readonly Message[], next: string): Message[] {
	const end = all.findIndex(({ id }) => id === next);
	const nextRun = all[end]?.runId;
	const shown: Message[] = [];
	for (const message of end === -1 ? all : all.slice(0, end)) {
		// The next version can begin with copies of earlier messages.
		if (message.runId !== undefined && message.runId === nextRun) continue;
		const { replaces } = message;
		if (replaces !== undefined && message !== all[0])
			while (shown.length > 0 && Number(shown.at(-1)?.id) >= Number(replaces)) shown.pop();
		shown.push(message);
	}
	return shown;
}

function hideFrom(bubble: HTMLElement): void {
	for (let node: Element | null = bubble; node !== null; node = node.nextElementSibling)
		if (node instanceof HTMLElement && !node.hidden) {
			node.hidden = true;
			node.dataset.newer = '';
		}
}

/** Closes the version that is open at this message or at another one beside it. */
function close(bubble: HTMLElement): void {
	for (const node of [...(bubble.parentElement?.children ?? [])]) {
		if (node.classList.contains('version')) node.remove();
		else if (node instanceof HTMLElement) showAgain(node);
	}
}

function showAgain(node: HTMLElement): void {
	if (node.dataset.newer === undefined) return;
	node.hidden = false;
	delete node.dataset.newer;
}

/** Moves the focus to the arrow that was pressed, or to the other one if it is at its end. */
function focusArrow(place: Element | null, pressed: 'left' | 'right'): void {
	const [older, newer] = place?.querySelectorAll<HTMLButtonElement>('.versions button, :scope > button') ?? [];
	const wanted = pressed === 'left' ? [older, newer] : [newer, older];
	wanted.find((arrow) => arrow?.disabled === false)?.focus();
}
