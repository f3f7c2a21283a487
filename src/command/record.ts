/** `runlet record`: saves a session of a running Runlet as a recording (docs/testing.md, "Replay a session"). */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createClient, type SessionClient } from '../client/index.ts';
import { recordSession, toRecordingName, writeRecording } from '../client/recording.ts';
import { toMessageText } from '../core/base/errors.ts';
import { type Recording, readRecording } from '../replay/recording.ts';
import { redact } from '../replay/redact.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { root, toCommand } from './project.ts';
import { explainFailure, findServer, serverOptions, serverUsage } from './server.ts';

export const usage = `${toCommand('record', 'SESSION [OPTIONS]')}

Saves a session with its children as a recording, which ${toCommand('replay')} replays.

  --out FILE        where to (default: recordings/AGENT-SESSION.json)
  --redact          replaces keys, mail addresses and card numbers by pseudonyms
  --pattern REGEX   with --redact: replaces its matches, too. It may be given several times
${serverUsage}
  --help            this text`;

export async function run(args: readonly string[]): Promise<number> {
	const { values, positionals } = readArguments(args);
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const [id, ...more] = positionals;
	if (id === undefined || more.length > 0) throw new UsageError(`Name one session. ${toCommand('record', '--help')}`);
	const { pattern: patterns = [] } = values;
	if (patterns.length > 0 && !values.redact) throw new UsageError('--pattern needs --redact.');
	const wrong = patterns.find((source) => !isExpression(source));
	if (wrong !== undefined) throw new UsageError(`--pattern: ${wrong} is no regular expression.`);
	const server = await findServer(values);
	const recording = await readSession(createClient(server), id, server.baseUrl);
	const file = values.out ?? join(root, 'recordings', toRecordingName(recording));
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, writeRecording(values.redact ? redact(recording, patterns) : recording));
	console.log(`${relative(process.cwd(), file)}: ${recording.messages.length} messages of ${recording.session.agent}`);
	return 0;
}

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(['out', 'redact', 'pattern', ...Object.keys(serverOptions)]);
		const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
		return parseOptions(toCommand('record', '--help'), {
			args: [...args],
			options: {
				...{ ...serverOptions, out: text, redact: flag },
				pattern: { type: 'string', multiple: true },
				help: { type: 'boolean', short: 'h' },
			},
			allowPositionals: true,
		});
	} catch (error) {
		throw new UsageError(toMessageText(error));
	}
}

function isExpression(source: string): boolean {
	try {
		return new RegExp(source, 'u') !== undefined;
	} catch {
		return false;
	}
}

async function readSession(client: SessionClient, id: string, url: string): Promise<Recording> {
	try {
		return readRecording(await recordSession(client, id));
	} catch (error) {
		throw explainFailure(error, { url, id });
	}
}
