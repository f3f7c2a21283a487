/** What the page shows: the part of the address after `#/`. */
export interface Address {
	/** The name of the panel. Missing if the page shows the chat. */
	readonly panel?: string;
	/** The id of the session. Missing if the chat is new. */
	readonly session?: string;
}

/** Reads an address such as `#/inbox` or `#/sessions/ID`. */
export function parseAddress(hash: string): Address {
	const [name = '', id = ''] = hash.replace(/^#?\/?/, '').split('/');
	if (name === 'sessions' && id !== '') return { session: id };
	return name === '' ? {} : { panel: name };
}

export function toSessionAddress(id: string): string {
	return `#/sessions/${id}`;
}
