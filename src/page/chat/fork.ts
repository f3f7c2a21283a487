/** Forks a session at a message or at an answer (docs/sessions.md, "Fork, export and import"). */

import gitFork from 'lucide/dist/esm/icons/git-fork.mjs';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { configure, shorten } from '../parts/element.ts';
import { createIconButton } from '../parts/icon.ts';
import type { Visit } from '../parts/live.ts';
import { findId, type Spot } from './again.ts';

/** Forks a session. Returns the id of the fork. */
export async function forkAt(client: SessionClient, { id, signal }: Visit, spot: Spot): Promise<string> {
	const at = await findId(client, id, spot, signal);
	return (await client.forkSession(id, { at, signal })).id;
}

/** `text` is that of the message. An answer has none. */
export function createForkButton(onFork: () => void, text?: string): HTMLButtonElement {
	const fork = createIconButton(gitFork, say('Fork from here'), onFork);
	fork.classList.add('fork');
	if (text === undefined) return fork;
	return configure(fork, { ariaLabel: say('Fork from here: {text}', { text: shorten(text, 40) }) });
}
