/** `runlet dev`: publishes the skills locally, then serves everything with `wrangler dev` until it is stopped. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { toMessageText } from '../core/base/errors.ts';
import { type Inspection, inspect, writeBanner } from './dev/banner.ts';
import { answerConnect } from './dev/connect.ts';
import { DevServer } from './dev/dev-server.ts';
import {
	type DevOptions,
	findConnectOptions,
	publicUrlOptions,
	readOptions,
	secretsKeyOptions,
	usage,
} from './dev/options.ts';
import { describeAnswer } from './dev/output.ts';
import { createProxy } from './dev/proxy.ts';
import { createTypeCheck } from './dev/types.ts';
import { watchFiles } from './dev/watch.ts';
import { readKeys, toSecret } from './keys/file.ts';
import { assertNotTakenByNpm, type CommandOptions } from './options.ts';
import { watchParent } from './processes.ts';
import { assertConfig, extension, root, toCommand } from './project.ts';
import { findWrangler, quietEnv } from './wrangler.ts';

const print = (text: string): void => console.log(text);
const printLine = (text: string | undefined): void => {
	if (text !== undefined) print(text);
};

export { usage };

export async function run(
	args: readonly string[],
	{ prepare = () => {} }: CommandOptions,
): Promise<number | undefined> {
	assertNotTakenByNpm(['port', 'persist-to', 'var', 'ip', 'config', 'remote', 'keys', 'keys-file']);
	const options = readOptions(args);
	if (options.help) {
		print(usage);
		return 0;
	}
	assertConfig(options.config);
	await serve(options, findWrangler(), prepare);
	return undefined;
}

async function serve(options: DevOptions, wrangler: string, prepare: () => void): Promise<void> {
	// This is done first, so that the end of the parent is always noticed.
	const onParentDeath = watchParent();
	const keys = await keyOptions(options.keysFile);
	const secret = randomBytes(24).toString('hex');
	const { basePath } = options;
	const connect = findConnectOptions(options);
	const proxy = createProxy({
		secret: options.isPrivate && options.keysFile === undefined ? secret : undefined,
		findAddress: () => server.findAddress(),
		onlyLoopback: options.isPrivate && options.keysFile === undefined,
		answerFirst: connect && ((req) => answerConnect(req, connect)),
		tls: options.tls,
		translate: (text) => server.translate(text),
		onAnswer: options.json ? undefined : (line) => printLine(describeAnswer(line)),
	});
	const checkTypes = options.checksTypes ? createTypeCheck(print) : () => {};
	let isAnnounced = false;
	let printed = '';
	/** Prints the banner once the Worker answers with its agents. Prints the problems whenever they change. */
	const show = async (port: number): Promise<void> => {
		const found = await inspect({ port, secret, basePath });
		const problems = found.problems.map((problem) => `  ${problem}`).join('\n');
		const { isPrivate, keysFile } = options;
		if (found.answers && !isAnnounced)
			print(
				await writeBanner(
					{ url: `${url}${basePath}`, basePath, port, secret, hasKeys: keysFile !== undefined, isPrivate },
					found,
				),
			);
		else if (found.answers) print('Runlet runs what was saved.');
		if (problems !== printed && problems !== '') print(`\n${introduceProblems(found)}\n${problems}\n`);
		if (found.answers && !isAnnounced) checkTypes();
		isAnnounced ||= found.answers;
		printed = problems;
	};
	// From here on requests wait for the Worker.
	const url = await listen(proxy, options);
	const server = new DevServer({
		program: wrangler,
		args: [
			...(options.isPrivate ? ['--var', `LOCAL:${secret}`] : []),
			...(options.tls === undefined ? [] : ['--upstream-protocol', 'https']),
			...keys,
			...secretsKeyOptions(options),
			...publicUrlOptions(options, `${url}${basePath}`),
			...options.rest,
			...['--ip', '127.0.0.1', '--port', '0'],
		],
		json: options.json,
		print,
		onEnd: (code, why) => {
			if (why !== undefined) console.error(`\n${why}`);
			process.exit(code);
		},
		onUp: ({ port }) => void show(port),
	});
	prepare();
	await publishSkills(options);
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.stop(signal));
	onParentDeath(() => server.stop('SIGTERM'));
	watchFiles({
		config: options.config,
		onSource: (savedAt) => server.retry(savedAt),
		onTypeScript: () => isAnnounced && checkTypes(),
		onVariables: (file) => {
			print(`${file} was saved: starting again with its variables.`);
			server.restart();
		},
		onSkills: () => void publishSkills(options),
	});
	server.start();
}

function introduceProblems({ answers, problems }: Inspection): string {
	if (!answers) return 'Runlet does not answer until this is mended:';
	const isOfAgents = problems.every((problem) => problem.startsWith('agent '));
	return isOfAgents ? 'Everything works, except:' : 'Something is to be mended:';
}

/** Listens on the address before any slow work, and returns its URL. */
async function listen(server: Server, { ip, port, tls }: DevOptions): Promise<string> {
	try {
		server.listen(port, ip === '*' ? undefined : ip);
		await once(server, 'listening');
	} catch (error) {
		throw new Error(explainListening(error, ip, port), { cause: error });
	}
	const address = server.address();
	const taken = typeof address === 'object' && address !== null ? address.port : port;
	const host = ['0.0.0.0', '::', '*'].includes(ip) ? '127.0.0.1' : ip.includes(':') ? `[${ip}]` : ip;
	return `${tls === undefined ? 'http' : 'https'}://${host}:${taken}`;
}

function explainListening(error: unknown, ip: string, port: number): string {
	const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
	if (code === 'EADDRINUSE')
		return `--port: ${port} is in use, perhaps by another one of these. Stop that, or take another: ${toCommand('dev', `--port ${port + 1}`)}`;
	if (code === 'EACCES')
		return `--port: ${port} may not be taken by your user. Take one above 1023: ${toCommand('dev', '--port 8787')}`;
	if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
		return `--ip ${ip}: this machine has no such address. Take 127.0.0.1, or 0.0.0.0 for all that it has.`;
	return `--port ${port}, --ip ${ip}: cannot be listened on (${toMessageText(error)}).`;
}

/**
 * Publishes the skills in a separate process, so that the memory of Wrangler's code is freed afterwards. An invalid
 * skill does not stop the server.
 */
async function publishSkills({ target }: DevOptions): Promise<void> {
	if (!existsSync(join(root, 'skills'))) return;
	const args = [join(import.meta.dirname, `bin${extension}`), 'skills', '--local', ...target];
	const child = spawn(process.execPath, args, {
		cwd: root,
		stdio: ['ignore', 'inherit', 'inherit'],
		env: quietEnv,
		timeout: 60_000,
	});
	const [code] = await once(child, 'close');
	if (code !== 0) console.error('Not all skills could be published. Continuing with the others.');
}

/** Returns the hashes of the keys in the form that the Worker reads. */
async function keyOptions(keysFile: string | undefined): Promise<string[]> {
	if (keysFile === undefined) return [];
	const { keys } = await readKeys(keysFile);
	if (keys.length === 0) throw new Error(`${keysFile} has no keys. Make one: ${toCommand('keys', 'make')}`);
	return ['--var', `API_KEYS:${toSecret(keys)}`];
}
