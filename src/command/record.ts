/** `runlet record`: saves a session of a running Runlet as a recording (docs/testing.md, "Replay a session"). */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ClientError, createClient, type SessionClient } from '../client/index.ts';
import { toMessageText } from '../core/base/errors.ts';
import { type Recording, readRecording, recordingVersion } from '../replay/recording.ts';
import { redact } from '../replay/redact.ts';
import { defaultKeysFile, readKeys } from './keys/file.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { root, toCommand } from './project.ts';

export const usage = `${toCommand('record', 'SESSION [OPTIONS]')}

Saves a session with its children as a recording, which ${toCommand('replay')} replays.

  --out FILE        where to (default: recordings/AGENT-SESSION.json)
  --redact          replaces keys, mail addresses and card numbers by pseudonyms
  --pattern REGEX   with --redact: replaces its matches, too. It may be given several times
  --key KEY         an API key of staff (default: RUNLET_API_KEY)
  --url URL         where Runlet is (default: RUNLET_URL, else http://127.0.0.1:8787)
  --remote          where this folder has deployed it
  --env NAME        with --remote: an environment of the Wrangler configuration
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
	const url = values.remote ? await findRemote(values.env ?? '') : (values.url ?? process.env.RUNLET_URL ?? defaultUrl);
	if (!URL.canParse(url)) throw new UsageError(`--url: ${url} is not a URL.`);
	const client = createClient({ baseUrl: url.replace(/\/+$/, ''), apiKey: values.key ?? process.env.RUNLET_API_KEY });
	const recording = await readSession(client, id, url);
	const file = values.out ?? join(root, 'recordings', `${recording.session.agent}-${id.slice(0, 8)}.json`);
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, `${JSON.stringify(values.redact ? redact(recording, patterns) : recording, null, '\t')}\n`);
	console.log(`${relative(process.cwd(), file)}: ${recording.messages.length} messages of ${recording.session.agent}`);
	return 0;
}

const defaultUrl = 'http://127.0.0.1:8787';

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(['out', 'redact', 'pattern', 'remote', 'env', 'key', 'url']);
		const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
		return parseOptions(toCommand('record', '--help'), {
			args: [...args],
			options: {
				...{ out: text, key: text, url: text, env: text, redact: flag, remote: flag },
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

/** Returns the address of the deployed Worker, which `runlet deploy` noted. */
async function findRemote(env: string): Promise<string> {
	const { remotes } = await readKeys(defaultKeysFile);
	const url = remotes[env]?.url;
	if (url !== undefined) return url;
	throw new UsageError(
		`--remote: this folder knows no address of a deployed Worker. Deploy from here, or name it: --url https://…`,
	);
}

async function readSession(client: SessionClient, id: string, url: string): Promise<Recording> {
	try {
		return readRecording(await record(client, id));
	} catch (error) {
		if (!(error instanceof ClientError)) throw error;
		if (error.status === 0) throw new UsageError(`${url} does not answer. Is Runlet running there?`);
		throw new UsageError(`${id}: ${error.message}`);
	}
}

async function record(client: SessionClient, id: string): Promise<Recording> {
	const exported = await client.exportSession(id);
	const children: Recording[] = [];
	for (const child of exported.session.children ?? []) children.push(await record(client, child.id));
	return { recording: recordingVersion, ...exported, ...(children.length > 0 && { children }) };
}
