/** What the page shows: the part of the address after `#/`. */
export interface Address {
	/** The name of the panel. Missing if the page shows the chat. */
	readonly panel?: string;
	/** The id of the session. Missing if the chat is new. */
	readonly session?: string;
	/** The part of the session's trace that is shown beside the chat. */
	readonly trace?: TracePlace;
}

/** A place in the trace of a session. Without a run, it is the whole trace. */
export interface TracePlace {
	readonly run?: string;
	readonly span?: string;
}

/** Reads an address such as `#/inbox`, `#/sessions/ID` or `#/sessions/ID/trace/RUN/SPAN`. */
export function parseAddress(hash: string): Address {
	const [name = '', session = '', part, run, span] = hash
		.replace(/^#?\/?/, '')
		.split('/')
		.map(decode);
	if (name === 'sessions' && session !== '')
		return part === 'trace' ? { session, trace: { ...(run && { run }), ...(span && { span }) } } : { session };
	return name === '' ? {} : { panel: name };
}

function decode(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

export function toSessionAddress(id: string): string {
	return `#/sessions/${id}`;
}

/** Returns the address of a session with its trace, of one of its runs, or of a span of a run. */
export function toTraceAddress(id: string, { run, span }: TracePlace = {}): string {
	const parts = [run, span].filter((part) => part !== undefined);
	return [`${toSessionAddress(id)}/trace`, ...parts.map(encodeURIComponent)].join('/');
}
