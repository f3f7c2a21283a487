/** `npm start`: seeds the skills, then serves everything with `wrangler dev` until it is told to stop. */

import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { constants as os } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/errors.ts';
import type { Agent } from '../src/playground/session.js';
import { describeModel } from '../src/playground/words.js';
import { defaultKeysFile, readKeys, secretOf } from './keys-file.ts';
import { killMarked, watchParent } from './processes.ts';
import { assertNotSwallowed } from './swallowed.ts';
import { quietEnv, root, wranglerPath } from './wrangler.ts';

const defaultPort = 8787;
/** How long Wrangler may take to stop before it is killed. */
const stopMs = 5_000;

/** Ends Wrangler when this process was killed and could not do it: runs inside Wrangler. */
const stopWhenAlone = [
	'--no-warnings',
	'--import',
	`data:text/javascript,${encodeURIComponent(
		"const { ppid } = process; setInterval(() => ppid === process.ppid || process.kill(process.pid, 'SIGTERM'), 1000).unref();",
	)}`,
];

try {
	assertNotSwallowed(['port', 'persist-to', 'var', 'ip', 'config', 'remote', 'keys', 'keys-file']);
} catch (error) {
	console.error(messageOf(error));
	process.exit(2);
}

const options = process.argv.slice(2);
const { values, tokens } = parseArgs({
	tokens: true,
	args: options,
	// All other options are Wrangler's business.
	strict: false,
	allowPositionals: true,
	allowNegative: true,
	options: {
		'persist-to': { type: 'string' },
		config: { type: 'string', short: 'c' },
		env: { type: 'string', short: 'e' },
		ip: { type: 'string' },
		'local-protocol': { type: 'string' },
		local: { type: 'boolean', short: 'l' },
		remote: { type: 'boolean', short: 'r' },
		tunnel: { type: 'boolean' },
		'tunnel-name': { type: 'string' },
		'show-interactive-dev-session': { type: 'boolean' },
		// Ours, and not Wrangler's.
		keys: { type: 'boolean' },
		'keys-file': { type: 'string' },
	},
});
const isGiven = (...names: (keyof typeof values)[]) => names.some((name) => values[name] !== undefined);

/** Whose keys it asks for, where it shall; without it asks for none. */
const keysFile = isGiven('keys-file') ? String(values['keys-file']) : isGiven('keys') ? defaultKeysFile : undefined;

/** Values of `--ip` by which only this machine reaches the server. */
const loopback: readonly unknown[] = ['127.0.0.1', 'localhost', '::1', undefined];

/** Whether only this machine can reach the server: then, and only then, it answers without a key. */
const isPrivate = loopback.includes(values.ip) && !isGiven('remote', 'tunnel', 'tunnel-name');

refuseMistakes();
// Asked before anything else: a parent that dies meanwhile is noticed too.
const onParentDeath = watchParent();
seedSkills();
serve(await keyOptions());

/** What would fail later with words that say less. */
function refuseMistakes(): void {
	const [first = '-'] = options;
	if (!first.startsWith('-')) fail(`"${first}" is no option. Options go behind two dashes: npm start -- --port 8799`);
	const folder = values['persist-to'];
	if (typeof folder !== 'string') return;
	try {
		accessSync(nearest(resolve(folder)), constants.W_OK | constants.X_OK);
	} catch (error) {
		fail(`--persist-to ${folder}: cannot be written to (${messageOf(error)}). Name another folder.`);
	}
}

/** The folder itself, or the first above it that is there. */
function nearest(path: string): string {
	return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

function fail(message: string): never {
	console.error(message);
	process.exit(1);
}

/** In a process of its own, which gives back the memory that Wrangler's code takes. A skill that is not valid stops nothing. */
function seedSkills(): void {
	const passed = (['persist-to', 'config', 'env'] as const).flatMap((name) => {
		const value = values[name];
		return typeof value === 'string' ? [`--${name}`, value] : [];
	});
	const args = [join(import.meta.dirname, 'skills.ts'), '--local', ...passed];
	const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: quietEnv, timeout: 60_000 });
	if (status !== 0) console.error('Not all skills could be published: going on with those that are.');
}

/** The hashes of the keys, as the Worker reads them. */
async function keyOptions(): Promise<string[]> {
	if (keysFile === undefined) return [];
	const { keys } = await readKeys(keysFile).catch((error: unknown) => fail(messageOf(error)));
	if (keys.length === 0) fail(`${keysFile} has no keys. Make one: npm run keys -- make`);
	return ['--var', `API_KEYS:${secretOf(keys)}`];
}

/** The options that are Wrangler's business. */
function wranglerOptions(): string[] {
	const own = tokens.filter(
		(token) => token.kind === 'option' && (token.name === 'keys' || token.name === 'keys-file'),
	);
	const taken = new Set(own.flatMap((token) => (hasOwnPlace(token) ? [token.index, token.index + 1] : [token.index])));
	return options.filter((_, index) => !taken.has(index));
}

/** Whether an option's value stands behind it, as the next argument. */
function hasOwnPlace(token: (typeof tokens)[number]): boolean {
	return token.kind === 'option' && token.value !== undefined && !token.inlineValue;
}

function serve(keyOptions: readonly string[]): void {
	const mark = randomUUID();
	const child = spawn(
		process.execPath,
		[...stopWhenAlone, wranglerPath, 'dev', ...defaults(), ...keyOptions, ...wranglerOptions()],
		{
			cwd: root,
			// Wrangler tells over IPC where it listens. The process group stays the same: a signal to the group reaches all.
			stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
			env: { ...quietEnv, RUNLET_START: mark },
		},
	);
	let stopping = false;
	const stop = (signal: NodeJS.Signals) => {
		if (!stopping) setTimeout(() => child.kill('SIGKILL'), stopMs).unref();
		stopping = true;
		child.kill(signal);
	};
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
	onParentDeath(() => stop('SIGTERM'));
	child.on('message', (message) => {
		const { event, ip, port } = JSON.parse(String(message));
		if (event === 'DEV_SERVER_READY') void announce(toUrl(ip, port));
	});
	child.on('error', (error) => {
		console.error(`Wrangler could not be started: ${error.message}`);
		process.exit(1);
	});
	child.on('exit', (code, signal) => {
		killMarked(`RUNLET_START=${mark}`);
		if (!stopping && code !== 0)
			console.error('\nRunlet has stopped: the first error above says why. Mend it, then run npm start again.');
		// To be stopped is what a server is for: 0, so that npm prints no error. Else as Wrangler ended.
		process.exit(stopping ? 0 : (code ?? 128 + os.signals[signal ?? 'SIGTERM']));
	});
}

/** Stands before the given options: Wrangler takes the last value of a `--var`, and a list of them ends at the next option. */
function defaults(): string[] {
	return [
		...(isPrivate ? ['--var', 'LOCAL:true'] : []),
		...(isGiven('ip') ? [] : ['--ip', '127.0.0.1']),
		// Without it a binding that lives only at Cloudflare (Workers AI) asks for a login before anything is served.
		...(isGiven('local', 'remote') ? [] : ['--local']),
		...(isGiven('show-interactive-dev-session') ? [] : ['--show-interactive-dev-session=false']),
	];
}

function toUrl(ip: string, port: number): string {
	const host = ['0.0.0.0', '::', '*'].includes(ip)
		? '127.0.0.1'
		: ip.includes(':')
			? `[${ip.replace(/[[\]]/g, '')}]`
			: ip;
	return `${values['local-protocol'] === 'https' ? 'https' : 'http'}://${host}:${port}`;
}

/** Wrangler listens before the Worker runs and holds requests till then: so the first answer is when all is ready. */
async function announce(url: string): Promise<void> {
	await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(30_000) }).catch(() => {});
	const chat = url === `http://127.0.0.1:${defaultPort}` ? 'npm run chat' : `npm run chat -- --url ${url}`;
	const body = JSON.stringify({ agent: 'assistant', text: 'What is 17 + 25?' });
	const key = keysFile === undefined ? '' : ` -H 'authorization: Bearer '$RUNLET_API_KEY`;
	console.log(`
  Runlet is at ${url}
${await modelsMissing(url)}
  In a terminal   ${chat}
  With curl       curl -N ${url}/v1/sessions -H 'content-type: application/json' -H 'accept: text/event-stream'${key} -d '${body}'
  Stop            Ctrl-C
${access()}`);
}

/** Who is answered. */
function access(): string {
	if (keysFile !== undefined) return '\n  Only who has a key of npm run keys is answered: export RUNLET_API_KEY=rl_…\n';
	if (isPrivate) return '\n  Nobody but this machine can reach it, so it asks for no key (npm start -- --keys does).\n';
	return '\n  Others can reach this address, so it answers nobody without an API key: npm start -- --keys\n';
}

/** The default models that cannot answer yet, a line each; what cannot be found out is left out. */
async function modelsMissing(url: string): Promise<string> {
	try {
		const response = await fetch(`${url}/v1/agents`, { signal: AbortSignal.timeout(5_000) });
		const { agents }: { agents: Agent[] } = await response.json();
		const described = new Set(agents.map(describeModel).filter((text) => text.includes('(')));
		return [...described].map((text) => `  ${text}\n`).join('');
	} catch {
		return '';
	}
}
