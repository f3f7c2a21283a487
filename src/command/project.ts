/** The project that a command works in. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { parseEnv } from 'node:util';
import * as v from 'valibot';

/** The files that configure Wrangler, in Wrangler's own order. */
const configNames = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'];

/** The project's folder: the nearest folder with a configuration of Wrangler, from the working directory upwards. */
export const root = findUpwards(process.cwd()) ?? process.cwd();

/** Wrangler's configuration of the project. If the file is missing, `assertConfig` throws. */
export const defaultConfig = join(root, findConfigName(root) ?? 'wrangler.toml');

/** The file ending of this program: `.ts` in the sources, `.js` in the package. */
export const extension = extname(import.meta.filename);

function findUpwards(folder: string): string | undefined {
	if (findConfigName(folder) !== undefined) return folder;
	return dirname(folder) === folder ? undefined : findUpwards(dirname(folder));
}

function findConfigName(folder: string): string | undefined {
	return configNames.find((name) => existsSync(join(folder, name)));
}

/** Reads the variables of the project's `.dev.vars`, or of `.env` if there is no such file, as Wrangler does. */
export function readVariables(): Readonly<Record<string, string | undefined>> {
	const file = ['.dev.vars', '.env'].map((name) => join(root, name)).find((path) => existsSync(path));
	return file === undefined ? {} : parseEnv(readFileSync(file, 'utf8'));
}

/** Reads the variables of the environment, and below them those of `.dev.vars`. A variable of the environment that is empty does not count. */
export function readSettings(): Readonly<Record<string, string | undefined>> {
	const set = Object.entries(process.env).filter(([, value]) => value !== '');
	return { ...readVariables(), ...Object.fromEntries(set) };
}

export function assertConfig(config: string): void {
	if (existsSync(config)) return;
	throw new Error(
		config === defaultConfig
			? `There is no wrangler.toml in ${root}, or in a folder above it. Go to the folder of your Worker, or make one: npm create runlet DIR`
			: `--config ${config}: there is no such file.`,
	);
}

/** Resolves a package that the project has installed. If it is missing, the error says how to install it. */
export function resolveInProject(name: string, from = join(root, 'package.json')): string {
	try {
		return createRequire(from).resolve(name);
	} catch (cause) {
		const [name0 = name] = name.split('/');
		throw new Error(`${name0} is not installed in ${root}: npm install --save-dev ${pinned(name0)}`, { cause });
	}
}

const ownManifest = v.object({ devDependencies: v.record(v.string(), v.string()) });

/** Returns `NAME@VERSION`, with the version that this Runlet is tested with. */
export function pinned(name: string): string {
	const file = join(import.meta.dirname, '..', '..', 'package.json');
	const { devDependencies } = v.parse(ownManifest, JSON.parse(readFileSync(file, 'utf8')));
	return devDependencies[name] === undefined ? name : `${name}@${devDependencies[name]}`;
}

const manifest = v.object({
	name: v.optional(v.string()),
	scripts: v.optional(v.record(v.string(), v.string()), {}),
});

/** The scripts of package.json that run a command of `runlet`. */
const scripts = readScripts();

function readScripts(): ReadonlySet<string> {
	try {
		const { name, scripts } = v.parse(manifest, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
		const calls = Object.entries(scripts).filter(
			([script, command]) => name === 'runlet' || command.includes(`runlet ${toCommandName(script)}`),
		);
		return new Set(calls.map(([script]) => script));
	} catch {
		return new Set();
	}
}

function toCommandName(script: string): string {
	return script === 'start' ? 'dev' : script;
}

/**
 * Returns the text to type for a command in this project: `npm run keys -- list` if package.json has a script for
 * the command, otherwise `npx runlet keys list`.
 */
export function toCommand(
	name: 'dev' | 'chat' | 'find' | 'record' | 'replay' | 'evals' | 'skills' | 'keys' | 'deploy' | 'page',
	rest = '',
): string {
	const script = name === 'dev' ? 'start' : name;
	const more = rest === '' ? '' : ` ${rest}`;
	if (!scripts.has(script)) return `npx runlet ${name}${more}`;
	const command = script === 'start' ? 'npm start' : `npm run ${script}`;
	return more === '' ? command : `${command} --${more}`;
}
