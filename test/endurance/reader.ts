import { createParser } from 'eventsource-parser';
import type { Client } from './client.ts';
import { createTranscript, type Transcript } from './transcript.ts';

export interface ReadOptions {
	/** An open connection. */
	readonly first?: Response;
	/** Chooses the bytes after which the next connection is cut. Missing: no cuts. */
	readonly cutAfter?: () => number;
	/** Waits before the next read. */
	readonly pace?: (bytes: number) => Promise<void>;
}

export interface Reading {
	readonly transcript: Transcript;
	readonly cuts: number;
}

/**
 * Follows a run to its end. When the test, a kill or the server cuts the connection, it reconnects from its last
 * event id.
 */
export async function read(
	client: Client,
	session: string,
	{ first, cutAfter = () => Number.POSITIVE_INFINITY, pace }: ReadOptions = {},
): Promise<Reading> {
	const transcript = createTranscript();
	let cuts = 0;
	for (let given = first; transcript.end === undefined; given = undefined) {
		const connection = new AbortController();
		const response = given ?? (await client.events(session, transcript.lastEventId, connection.signal));
		if (response.status === 204) throw new Error('there is nothing to follow before the end');
		// A new parser for each connection, because a partial event is lost.
		const parser = createParser({ onEvent: transcript.take });
		const decoder = new TextDecoder();
		let room = cutAfter();
		const body = response.body?.getReader();
		try {
			while (room > 0) {
				// A kill ends the body with an error.
				const { value } = (await body?.read().catch(() => undefined)) ?? {};
				if (value === undefined) break;
				parser.feed(decoder.decode(value.subarray(0, room), { stream: true }));
				room -= value.length;
				await pace?.(value.length);
			}
		} finally {
			await body?.cancel().catch(() => {});
			connection.abort();
		}
		if (room <= 0 && transcript.end === undefined) cuts++;
	}
	return { transcript, cuts };
}
