import type { Setup } from '../cloudflare/session/store/setup.ts';
import type { Recording } from './recording.ts';

/** Finds the setup of each reply. A recording has the fields that changed. Returns the setups by message id. */
export function findSetups({ messages }: Recording): ReadonlyMap<string, Setup> {
	const setups = new Map<string, Setup>();
	let current: Setup = {};
	for (const { id, role, stored } of messages) {
		if (role !== 'assistant') continue;
		current = { ...current, ...stored?.setup };
		setups.set(id, current);
	}
	return setups;
}
