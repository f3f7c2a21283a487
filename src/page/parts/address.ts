/** The place on the page: the part of the address after `#/`. */
export interface Address {
	/** The name of the panel. Missing for the chat. */
	readonly panel?: string;
	/** The id of the session. Missing for a new chat. */
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
