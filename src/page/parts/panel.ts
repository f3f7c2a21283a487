import type { Client } from '../../client/index.ts';

/** The arguments of a panel each time it is shown. */
export interface Place {
	readonly client: Client;
	/** Aborted when the page leaves the panel, and when the panel is shown again. */
	readonly signal: AbortSignal;
	/** Shows the panel again from its beginning. */
	readonly again: () => void;
	/** Calls `listener` when the sessions or the waiting calls may have changed elsewhere. */
	readonly onNews: (listener: () => Promise<void>) => void;
	/** Updates the menu: the sessions and the waiting calls. */
	readonly changed: () => void;
}

/** A part of the page with an address of its own, `#/NAME`. */
export interface Panel {
	readonly name: string;
	readonly title: string;
	/** A sentence below the title. */
	readonly about: string;
	/** Fills `root`, which is empty. An error is shown in its place, with a retry button. */
	open(root: HTMLElement, place: Place): Promise<void>;
}
