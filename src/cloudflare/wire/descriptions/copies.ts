import { description } from '../description.ts';
import { exportedSession } from '../export.ts';
import { newSession } from '../session.ts';
import * as example from './examples.ts';

const copied = { ...example.session, ...example.token };

export const exportSession = description({
	id: 'exportSession',
	tag: 'Sessions',
	summary: 'Export a session',
	description:
		'All data of the session as it is now: state, metadata, runs, spending, what tools remember, waiting messages, the files and the whole history. The answer is a stream of any length.',
	headers: ['accept'],
	answers: {
		200: {
			says: 'One JSON document. With `Accept: application/x-ndjson` one line for each record.',
			json: exportedSession,
			examples: { session: example.exported },
			also: {
				'application/x-ndjson': {
					example: example.exportedLines,
					says: 'Lines `{ "session": … }`, `{ "run": … }`, `{ "spending": … }`, `{ "state": … }`, `{ "note": … }`, `{ "waiting": … }`, `{ "file": … }`, `{ "message": … }`, and a last line `{ "end": … }` with the number of each. Without the last line the export is incomplete.',
				},
			},
		},
	},
	errors: [404],
});

export const forkSession = description({
	id: 'forkSession',
	tag: 'Sessions',
	summary: 'Copy a session',
	description:
		'The copy has the history, what tools remember and the files, and an account of its own. With `at` it has the history up to that message. A run that is not over is cancelled in the copy.',
	headers: ['idempotency-key'],
	examples: { all: {}, upTo: { at: '65536' } },
	answers: {
		201: { says: 'The copy, with a token for it.', json: newSession, examples: { copied }, headers: ['location'] },
	},
	errors: [400, 404, 409],
});

export const importSession = description({
	id: 'importSession',
	tag: 'Sessions',
	summary: 'Import a session',
	description:
		'Makes a session of what `GET /v1/sessions/:id/export` returned, here or in another Runlet: all of it or nothing. Its runs, history, files and what tools remember come along; what was spent, the messages that waited, who sent and approved what, and what only a provider understands do not. All of it counts as text from outside. One JSON document has at most 32 MiB, lines have at most 1 GiB.',
	headers: ['idempotency-key'],
	body: {
		'application/json': { example: example.exported },
		'application/x-ndjson': { example: example.exportedLines },
	},
	answers: {
		201: { says: 'The session, with a token for it.', json: newSession, examples: { copied }, headers: ['location'] },
	},
	errors: [400, 404, 409, 413, 415],
});
