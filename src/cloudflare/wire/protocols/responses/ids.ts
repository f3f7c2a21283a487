/** A response is a run: its id names the session's object and the number of the run. */
export interface RunPlace {
	readonly session: string;
	readonly run: number;
}

export function formatResponseId({ session, run }: RunPlace): string {
	return `resp_${session}${run.toString(16)}`;
}

/** Returns undefined for a text that no response has as its id. */
export function parseResponseId(id: string): RunPlace | undefined {
	return toPlace(/^resp_([0-9a-f]{64})([1-9a-f][0-9a-f]{0,11})$/.exec(id));
}

/** Makes the end of the ids of a response's items. Without a place no item leads to its response. */
export function formatItemId(prefix: string, place: RunPlace | undefined, runId: string, index: number): string {
	const whose = place === undefined ? runId : `${place.session}${place.run.toString(16)}`;
	return `${prefix}_${whose}_${index}`;
}

/** Returns the response that an item belongs to, or undefined if its id does not say so. */
export function parseItemId(id: string): RunPlace | undefined {
	return toPlace(/^(?:msg|rs|fc|mcp)_([0-9a-f]{64})([1-9a-f][0-9a-f]{0,11})_\d+$/.exec(id));
}

/** Makes the id under which a client answers a call. It leads to the session of the call. */
export function formatCallId(prefix: 'call' | 'mcpr', session: string, callId: string): string {
	return `${prefix}_${session}_${callId}`;
}

export function parseCallId(id: string): { readonly session: string; readonly callId: string } | undefined {
	const [, session, callId] = /^(?:call|mcpr)_([0-9a-f]{64})_([\s\S]+)$/.exec(id) ?? [];
	return session === undefined || callId === undefined ? undefined : { session, callId };
}

export function formatConversationId(session: string): string {
	return `conv_${session}`;
}

/** Returns the session of a conversation, or undefined for a text that no conversation has as its id. */
export function parseConversationId(id: string): string | undefined {
	return /^conv_([0-9a-f]{64})$/.exec(id)?.[1];
}

function toPlace(found: RegExpExecArray | null): RunPlace | undefined {
	const [, session, run] = found ?? [];
	return session === undefined || run === undefined ? undefined : { session, run: Number.parseInt(run, 16) };
}
