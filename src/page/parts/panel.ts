import type { Client } from '../../client/index.ts';

/** What a panel is given each time it is shown. */
export interface Place {
	readonly client: Client;
	/** Aborted when the page turns elsewhere, and when the panel is shown again. */
	readonly signal: AbortSignal;
	/** Shows the panel again from its beginning. */
	readonly again: () => void;
	/** Has `listener` called when the sessions or what waits for a person may have changed elsewhere. */
	readonly onNews: (listener: () => Promise<void>) => void;
	/** Reads again what stands beside the panel: the sessions, and what waits. */
	readonly changed: () => void;
}

/** A part of the page with an address of its own, `#/NAME`. */
export interface Panel {
	readonly name: string;
	readonly title: string;
	/** A sentence below the title. */
	readonly about: string;
	/** Fills `root`, which is empty. What it throws is told in its place, with a way to try again. */
	open(root: HTMLElement, place: Place): Promise<void>;
}
