/** The interface of all panels, and lists that are read in pages. */

import type { Client } from '../../client/index.ts';
import { button, element } from './element.ts';
import { createFailure } from './failure.ts';
import type { Right, Viewer } from './viewer.ts';

/** What the page passes to a panel each time the panel is shown. */
export interface Place {
	readonly client: Client;
	readonly viewer: Viewer;
	/** Aborted when the page leaves the panel, or shows it again. */
	readonly signal: AbortSignal;
	/** Reloads the panel. */
	readonly again: () => void;
	/** Registers a listener. It is called when sessions or waiting calls have possibly changed elsewhere. */
	readonly onNews: (listener: () => Promise<void>) => void;
	/** Tells the page that the panel has changed sessions or waiting calls, so that the menu is updated. */
	readonly changed: () => void;
}

/** A view of the page, at the address `#/NAME`. */
export interface Panel {
	readonly name: string;
	readonly title: string;
	readonly about: string;
	/** The right that the panel needs. Without this field, everybody with a key sees it. */
	readonly right?: Right;
	/** Fills the empty element `root`. If `open` throws, the page shows the error with a retry button. */
	open(root: HTMLElement, place: Place): Promise<void>;
}

/** Reads a list page by page. `load` reads the first page, `more` is a button for the next, `failures` shows errors. */
export function createPages<Page extends { readonly cursor?: string }>(
	{ signal, again }: Place,
	read: (cursor: string | undefined) => Promise<Page>,
	show: (page: Page, isFirst: boolean) => Promise<void> | void,
) {
	const failures = element('div');
	const more = button('more', 'Show more', () => void load(cursor).catch(fail));
	let cursor: string | undefined;
	let newest = 0;

	function fail(error: unknown): void {
		if (!signal.aborted) failures.replaceChildren(createFailure(error, again));
	}

	/** Reads a page. Ignores the result if another read has begun in the meantime. */
	async function load(from?: string): Promise<void> {
		newest += 1;
		const own = newest;
		more.disabled = true;
		const page = await read(from);
		if (own !== newest || signal.aborted) return;
		failures.replaceChildren();
		await show(page, from === undefined);
		cursor = page.cursor;
		more.hidden = cursor === undefined;
		more.disabled = false;
	}

	return {
		...{ more, failures, fail },
		load: () => load(),
		reload: () => void load().catch(fail),
		isComplete: () => cursor === undefined,
	};
}
