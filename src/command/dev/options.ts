/** The options of `runlet dev`: it uses a few options itself, and passes all others to `wrangler dev`. */

import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { toMessageText } from '../../core/base/errors.ts';
import { findNearest } from '../../core/base/text.ts';
import { defaultKeysFile } from '../keys/file.ts';
import { toBasePath, UsageError } from '../options.ts';
import { defaultConfig, root, toCommand } from '../project.ts';
import { findVariablesFile } from './connect/variables-file.ts';
import type { ConnectOptions } from './connect.ts';

export const usage = `${toCommand('dev', '[OPTIONS]')}: serves everything on this machine, with the skills of skills/, and reloads what is saved
  --port PORT         where it listens (8787, or what the variable PORT says)
  --ip ADDRESS        on which address; from another than 127.0.0.1 others reach it, and need a key
  --var NAME:VALUE    a variable, such as MODEL:claude-sonnet-4-6; .dev.vars has those that stay
  --base-path PATH    where createRunlet has a basePath: the same, such as /ai
  --skills-binding NAME   the KV namespace of the skills, where createRunlet has another name for SKILLS
  --persist-to DIR    where sessions and skills are kept (.wrangler/state)
  --keys              asks for the keys of ${toCommand('keys')}, and answers under any name
  --keys-file FILE    where their hashes are (keys.json)
  --no-type-check     does not check the types of what is saved
  --json              the Worker's log as it is: a line of JSON an event
  --help              this text
All other options go to wrangler dev: npx wrangler dev --help has them.`;

/** The options of `wrangler dev`. A test compares them with `wrangler dev --help`. Others are typing mistakes. */
export const wranglerNames = [
	...['alias', 'assets', 'bundle', 'compatibility-date', 'compatibility-flag', 'compatibility-flags', 'config', 'cwd'],
	...['define', 'enable-containers', 'env', 'env-file', 'help', 'host', 'https-cert-path', 'https-key-path'],
	...['inspector-ip', 'inspector-port', 'install-skills', 'ip', 'jsx-factory', 'jsx-fragment', 'latest', 'live-reload'],
	...['local', 'local-protocol', 'local-upstream', 'log-level', 'minify', 'name', 'node-compat', 'persist-to', 'port'],
	...['profile', 'remote', 'route', 'routes', 'show-interactive-dev-session', 'site', 'site-exclude', 'site-include'],
	...['test-scheduled', 'tsconfig', 'tunnel', 'tunnel-name', 'types', 'upstream-protocol', 'var', 'version'],
];

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** The options that are not passed to `wrangler dev`. */
const own = {
	port: text,
	ip: text,
	'base-path': text,
	'skills-binding': text,
	'local-protocol': text,
	'https-key-path': text,
	'https-cert-path': text,
	keys: flag,
	'keys-file': text,
	json: flag,
	'type-check': flag,
	help: { ...flag, short: 'h' },
} as const;

export interface DevOptions {
	readonly help: boolean;
	readonly port: number;
	readonly ip: string;
	/** The base path of Runlet in the Worker. */
	readonly basePath: string;
	/** Whether only this machine can reach the server. If not, the server needs keys. */
	readonly isPrivate: boolean;
	readonly tls: { readonly key: Buffer; readonly cert: Buffer } | undefined;
	/** The file of the accepted keys, if keys are needed. */
	readonly keysFile: string | undefined;
	readonly json: boolean;
	/** Whether the types are checked in parallel. */
	readonly checksTypes: boolean;
	readonly config: string;
	/** The folder of the sessions and skills. */
	readonly stateFolder: string;
	readonly env: string | undefined;
	/** The options for `runlet skills`, so that it uses the same storage. */
	readonly target: readonly string[];
	/** The options for `wrangler dev`. */
	readonly rest: readonly string[];
}

/** The values of `--ip` with which only this machine reaches the server. */
const loopback = ['127.0.0.1', 'localhost', '::1'];

/** Reads the options. Throws a `UsageError` for a wrong option. */
export function readOptions(args: readonly string[], { PORT }: NodeJS.ProcessEnv = process.env): DevOptions {
	const { values, tokens } = parseArgs({
		tokens: true,
		args: [...args],
		strict: false,
		allowPositionals: true,
		allowNegative: true,
		options: {
			...own,
			'persist-to': text,
			config: { ...text, short: 'c' },
			env: { ...text, short: 'e' },
			local: { ...flag, short: 'l' },
			remote: { ...flag, short: 'r' },
			tunnel: flag,
			'tunnel-name': text,
			'show-interactive-dev-session': flag,
		},
	});
	const [first = '-'] = args;
	if (!first.startsWith('-'))
		throw new UsageError(`"${first}" is no option. Write them like this: ${toCommand('dev', '--port 8799')}`);
	for (const token of tokens) if (token.kind === 'option') assertKnown(token.name, token.rawName);
	const isGiven = (...names: string[]) => names.some((name) => values[name] !== undefined);
	const readText = (name: string) => textIn(values[name], name);
	const ownArgs = new Set<number>();
	for (const token of tokens) {
		if (token.kind !== 'option' || !Object.hasOwn(own, token.name)) continue;
		ownArgs.add(token.index);
		if (token.value !== undefined && !token.inlineValue) ownArgs.add(token.index + 1);
	}
	const ip = readText('ip') ?? '127.0.0.1';
	return {
		help: values.help === true,
		port: isGiven('port') ? toPort(readText('port'), '--port ') : toPort(PORT, 'PORT='),
		ip,
		basePath: toBasePath(readText('base-path')),
		isPrivate: loopback.includes(ip) && !isGiven('remote', 'tunnel', 'tunnel-name'),
		tls: readTls(readText('local-protocol'), readText('https-key-path'), readText('https-cert-path')),
		keysFile: readText('keys-file') ?? (values.keys === true ? defaultKeysFile : undefined),
		json: values.json === true,
		checksTypes: values['type-check'] !== false,
		config: readText('config') ?? defaultConfig,
		stateFolder: readText('persist-to') ?? join(root, '.wrangler', 'state'),
		env: readText('env'),
		target: ['persist-to', 'config', 'env', 'skills-binding'].flatMap((name) => {
			const value = readText(name);
			return value === undefined ? [] : [`--${name}`, value];
		}),
		rest: [
			// Without `--local`, a binding that exists only at Cloudflare (Workers AI) asks for a login at the start.
			...(isGiven('local', 'remote') ? [] : ['--local']),
			...(isGiven('show-interactive-dev-session') ? [] : ['--show-interactive-dev-session=false']),
			...args.filter((_, index) => !ownArgs.has(index)),
		],
	};
}

function assertKnown(name: string, rawName: string): void {
	if (rawName.length === 2 || /^(x|experimental)-/.test(name)) return;
	const known = [...wranglerNames, ...Object.keys(own)];
	const kebab = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
	if (known.includes(kebab) || known.includes(kebab.replace(/^no-/, ''))) return;
	const meant = findNearest(kebab, known);
	const hint = meant === undefined ? '' : ` Did you mean --${meant}?`;
	throw new UsageError(`--${name}: there is no such option.${hint} ${toCommand('dev', '--help')} has them all.`);
}

function textIn(value: unknown, name: string): string | undefined {
	if (value === undefined || typeof value === 'string') return value;
	throw new UsageError(`--${name}: its value is missing. Write --${name} VALUE.`);
}

function toPort(value: string | undefined, source: '--port ' | 'PORT='): number {
	if (value === undefined || value === '') return 8787;
	const port = Number(value);
	if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
	throw new UsageError(`${source}${value}: expected a number from 1 to 65535, such as ${source}8799.`);
}

function readTls(protocol: string | undefined, key: string | undefined, cert: string | undefined): DevOptions['tls'] {
	if (protocol === undefined || protocol === 'http') return undefined;
	if (protocol !== 'https') throw new UsageError(`--local-protocol ${protocol}: expected http or https.`);
	if (key === undefined || cert === undefined)
		throw new UsageError(
			'--local-protocol https: name a certificate for this machine, as mkcert makes it, by --https-key-path FILE and --https-cert-path FILE.',
		);
	try {
		return { key: readFileSync(key), cert: readFileSync(cert) };
	} catch (error) {
		throw new UsageError(`--https-key-path, --https-cert-path: cannot be read (${toMessageText(error)}).`);
	}
}

type Project = Pick<DevOptions, 'rest' | 'config'>;

/** Returns the option with the Worker's address for logins of MCP servers, if login pages can reach that address. */
export function publicUrlOptions(project: Project, url: string): readonly string[] {
	const isUsable = /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/.test(`${url}/`);
	return !isUsable || setsVariable(project, 'PUBLIC_URL') ? [] : ['--var', `PUBLIC_URL:${url}`];
}

/** Returns the option with the key for the secrets of owners. The key is kept beside the sessions, which need it. */
export function secretsKeyOptions(project: Project & Pick<DevOptions, 'stateFolder'>): readonly string[] {
	if (project.rest.includes('--remote') || setsVariable(project, 'SECRETS_KEY')) return [];
	return ['--var', `SECRETS_KEY:${readOrMakeKey(project.stateFolder)}`];
}

function readOrMakeKey(folder: string): string {
	const file = join(folder, 'secrets.key');
	const before = readIfThere(file).trim();
	if (before !== '') return before;
	mkdirSync(folder, { recursive: true });
	const key = randomBytes(32).toString('base64');
	// Only the user who created the file can read it.
	writeFileSync(file, `${key}\n`, { mode: 0o600 });
	return key;
}

/** Returns how the page can connect a model. Returns undefined if it must not, or if other files have the variables. */
export function findConnectOptions(options: DevOptions): ConnectOptions | undefined {
	const { isPrivate, keysFile, rest, config, env, basePath } = options;
	const folder = resolve(dirname(config));
	const isElsewhere = folder !== root || rest.some((option) => /^--(env-file|cwd)\b/.test(option));
	if (!isPrivate || keysFile !== undefined || isElsewhere) return undefined;
	const hasModel = rest.some((option) => /^(--var=)?MODEL:/.test(option));
	return { basePath, findFile: () => findVariablesFile(folder, env), hasModel };
}

/** Whether the project sets a variable: as an option, in its configuration, or in a file beside the configuration. */
function setsVariable({ rest, config }: Project, name: string): boolean {
	if (rest.some((option) => option.includes(`${name}:`))) return true;
	const folder = dirname(config);
	const files = [config, ...globSync(['.dev.vars*', '.env*'], { cwd: folder }).map((file) => join(folder, file))];
	return files.some((file) => new RegExp(`^\\s*(export\\s+)?"?${name}"?\\s*[=:]`, 'm').test(readIfThere(file)));
}

/** Returns an empty text for a file that cannot be read. */
function readIfThere(file: string): string {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}
