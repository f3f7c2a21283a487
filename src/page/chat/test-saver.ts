/** The button that saves the open session as a test. Only staff see it, because only they may export a session. */

import type { Client } from '../../client/index.ts';
import { button, find } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { saveTest } from '../parts/save-test.ts';

export function createTestSaver(client: Client) {
	const opener = find('#save-test', HTMLButtonElement);
	const note = find('#saved-test', HTMLElement);
	let isAllowed = false;
	let session: string | undefined;
	let visit = new AbortController();

	function update(): void {
		opener.hidden = !isAllowed || session === undefined;
	}

	async function save(): Promise<void> {
		if (session === undefined) return;
		const { signal } = visit;
		opener.disabled = true;
		try {
			const saved = await saveTest(client, { id: session, signal });
			if (!signal.aborted)
				note.replaceChildren(
					saved,
					button('action', 'Close', () => note.replaceChildren()),
				);
		} catch (error) {
			if (!signal.aborted) note.replaceChildren(createFailure(error, () => void save()));
		}
		opener.disabled = false;
	}

	opener.addEventListener('click', () => void save());

	return {
		allow(is: boolean): void {
			isAllowed = is;
			update();
		},
		/** Sets the session that is saved. Without a session, there is no button. */
		show(id: string | undefined): void {
			if (id !== session) {
				visit.abort();
				visit = new AbortController();
				note.replaceChildren();
			}
			session = id;
			update();
		},
	};
}
