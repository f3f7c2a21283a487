/** Forks a session at a message or at an answer (docs/sessions.md, "Fork, export and import"). */

import gitFork from 'lucide/dist/esm/icons/git-fork.mjs';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { configure, shorten } from '../parts/element.ts';
import { createIconButton } from '../parts/icon.ts';
import type { Visit } from '../parts/live.ts';
import { findId, type Spot } from './again.ts';

/** Forks a session at a spot. Returns the id of the fork. */
export async function forkAt(client: SessionClient, visit: Visit, spot: Spot): Promise<string> {
	return fork(client, visit, await findId(client, visit.id, spot, visit.signal));
}

/** Forks a session, and says so in the title of the fork. Returns the id of the fork. */
export async function fork(client: SessionClient, { id, signal }: Visit, at?: string): Promise<string> {
	const { id: copy, title } = await client.forkSession(id, { ...(at !== undefined && { at }), signal });
	if (title === undefined) return copy;
	const change = { title: say('{title} (fork)', { title: shorten(title, 190) }) };
	// If this fails, the fork keeps the title of its original.
	await client.changeSession(copy, change, { signal }).catch(() => undefined);
	return copy;
}

/** `text` is that of the message. An answer has none. */
export function createForkButton(onFork: () => void, text?: string): HTMLButtonElement {
	const fork = createIconButton(gitFork, say('Fork from here'), onFork);
	fork.classList.add('fork');
	if (text === undefined) return fork;
	return configure(fork, { ariaLabel: say('Fork from here: {text}', { text: shorten(text, 40) }) });
}
