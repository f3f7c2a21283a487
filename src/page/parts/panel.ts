import type { Client } from '../../client/index.ts';

/** What a panel gets each time it is shown. */
export interface Place {
	readonly client: Client;
	/** Aborted when the page leaves the panel, and when the panel is shown again. */
	readonly signal: AbortSignal;
	/** Reloads the panel. */
	readonly again: () => void;
	/** Calls `listener` when the sessions or the waiting calls may have changed elsewhere. */
	readonly onNews: (listener: () => Promise<void>) => void;
	/** Updates the menu: the sessions and the waiting calls. */
	readonly changed: () => void;
}

/** A part of the page at the address `#/NAME`. */
export interface Panel {
	readonly name: string;
	readonly title: string;
	readonly about: string;
	/** Fills the empty `root`. If it throws, the page shows the error with a retry button. */
	open(root: HTMLElement, place: Place): Promise<void>;
}
