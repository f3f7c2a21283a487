/** Saves a session as a test: a recording that `npx runlet replay` replays. */

import type { Client } from '../../client/index.ts';
import { recordSession, toRecordingName, writeRecording } from '../../client/recording.ts';
import { createCopy, element, save } from './element.ts';
import type { Visit } from './live.ts';

/** Downloads the recording of a session. Returns a note that says what to do with the file. */
export async function saveTest(client: Client, { id, signal }: Visit): Promise<HTMLElement> {
	const recording = await recordSession(client, id, { signal });
	const name = toRecordingName(recording);
	save(name, new Blob([writeRecording(recording)], { type: 'application/json' }));
	const command = `npx runlet replay recordings/${name}`;
	return element(
		'p',
		'saved-test',
		'Saved as ',
		element('code', '', name),
		'. Put it into ',
		element('code', '', 'recordings/'),
		' of your project, and replay it: ',
		element('code', '', command),
		createCopy('Copy the command', () => command),
	);
}
