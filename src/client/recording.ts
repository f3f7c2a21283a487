import type { SignalOption } from './http.ts';
import type { SessionClient } from './sessions.ts';
import type { ExportedSession } from './types.ts';

/** A session with the sessions that worked for it, as `npx runlet replay` reads it (docs/testing.md, "Recordings"). */
export interface RecordedSession extends ExportedSession {
	/** The version of recordings. */
	readonly recording: 1;
	readonly children?: readonly RecordedSession[];
}

/** Exports a session and its children. The requests need an API key of staff. */
export async function recordSession(
	client: Pick<SessionClient, 'exportSession'>,
	id: string,
	options?: SignalOption,
): Promise<RecordedSession> {
	const exported = await client.exportSession(id, options);
	const children: RecordedSession[] = [];
	for (const child of exported.session.children ?? []) children.push(await recordSession(client, child.id, options));
	return { recording: 1, ...exported, ...(children.length > 0 && { children }) };
}

/** Returns the usual name of a recording's file. */
export function toRecordingName({ session: { agent, id } }: Pick<RecordedSession, 'session'>): string {
	return `${agent}-${id.slice(0, 8)}.json`;
}

/** Writes a recording as the text of its file. */
export function writeRecording(recording: object): string {
	return `${JSON.stringify(recording, null, '\t')}\n`;
}
