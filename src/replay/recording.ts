import * as v from 'valibot';
import { type ExportedSession, exportedSession } from '../cloudflare/wire/export.ts';
import { check } from '../core/base/check.ts';
import { RunletError } from '../core/base/errors.ts';

/** The version of recordings. `readRecording` refuses any other. */
export const recordingVersion = 1 as const;

/** A recorded session: its export (`GET /v1/sessions/:id/export`) with its children (docs/testing.md, "Recordings"). */
export interface Recording extends ExportedSession {
	readonly recording: typeof recordingVersion;
	/** The sessions that worked for calls of this one. */
	readonly children?: readonly Recording[];
	/** Present if texts were replaced by pseudonyms, with the patterns besides the usual ones. */
	readonly redacted?: { readonly patterns: readonly string[] };
}

export type RecordedRun = Recording['runs'][number];
export type RecordedMessage = Recording['messages'][number];

const about: v.GenericSchema<unknown, Pick<Recording, 'recording' | 'children' | 'redacted'>> = v.object({
	recording: v.literal(recordingVersion, `this Runlet reads recordings of version ${recordingVersion}`),
	children: v.optional(v.array(v.lazy(() => recordingSchema))),
	redacted: v.optional(v.object({ patterns: v.array(v.string()) })),
});

const recordingSchema: v.GenericSchema<unknown, Recording> = v.intersect([about, exportedSession]);

/** Reads a recording. Throws `invalid_request`, which names the field. */
export function readRecording(value: unknown): Recording {
	return check(recordingSchema, value, 'recording');
}

/** A session of a recording, and the way to it from the first session. */
export interface RecordedSession {
	readonly recording: Recording;
	/** The names of the agents, from the first session to this one. */
	readonly path: readonly string[];
}

/** Lists the sessions of a recording. Each session comes before its children. */
export function listSessions(recording: Recording, above: readonly string[] = []): readonly RecordedSession[] {
	const path = [...above, recording.session.agent];
	return [{ recording, path }, ...(recording.children ?? []).flatMap((child) => listSessions(child, path))];
}

/** The place of a message in its session. */
export function findPlace({ id }: Pick<RecordedMessage, 'id'>): number {
	const place = Number(id);
	if (Number.isSafeInteger(place)) return place;
	throw new RunletError('invalid_request', `messages: the id ${id.slice(0, 64)} is no place in a history.`);
}
