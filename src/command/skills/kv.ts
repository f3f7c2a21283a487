import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { type SkillsKv, toSkillsKv } from '../../core/skill/kv/layout.ts';
import { loadMiniflare, loadWrangler, quietEnv, toShortCommand } from '../wrangler.ts';

interface OpenedKv {
	readonly kv: SkillsKv;
	close(): Promise<void>;
}

/** Selects the namespace: a binding of a Wrangler configuration. */
interface Where {
	readonly config: string;
	readonly env?: string;
	/** The name of the binding, which is `SKILLS` unless `createRunlet` has another name in `bindings`. */
	readonly binding: string;
	/** The folder of `wrangler dev --persist-to`. Only for local storage. */
	readonly persistTo: string;
}

/**
 * Opens the KV of `wrangler dev --persist-to DIR`, without the rest of the Worker. `getPlatformProxy` would set
 * up every binding and warn about Durable Objects.
 */
export async function openLocal({ config, env, binding: name, persistTo }: Where): Promise<OpenedKv> {
	const { Miniflare } = await loadMiniflare();
	const namespace = await findNamespace(name, { config, env });
	if (namespace === undefined)
		throw new Error(
			`${config} has no KV namespace with the binding ${name}. Add it, or name yours: --skills-binding NAME`,
		);
	const miniflare = new Miniflare({
		modules: true,
		script: '',
		cf: false,
		kvNamespaces: { [name]: namespace },
		kvPersist: resolve(persistTo, 'v3', 'kv'),
	});
	const kv = toSkillsKv(await miniflare.getKVNamespace(name));
	return { kv, close: () => miniflare.dispose() };
}

const keyList = v.array(v.object({ name: v.string() }));

/**
 * Opens the deployed KV through `wrangler kv …`, with Wrangler's own login. Each operation is one child process
 * and handles many keys. A request to KV has up to a thousand keys.
 */
export function openRemote({ config, env, binding }: Where): OpenedKv {
	const where = ['--binding', binding, '--remote', '--config', config, ...(env ? ['--env', env] : [])];
	const run = async (args: readonly string[], level: 'log' | 'error' = 'error') => {
		const options = { env: { ...quietEnv, WRANGLER_LOG: level }, maxBuffer: 64 * 1024 * 1024 };
		return (await promisify(execFile)(process.execPath, toShortCommand(['kv', ...args, ...where]), options)).stdout;
	};
	const bulk = async (operation: 'put' | 'delete', content: unknown, ...more: string[]) => {
		const folder = await mkdtemp(join(tmpdir(), 'runlet-skills-'));
		try {
			const file = join(folder, `${operation}.json`);
			await writeFile(file, JSON.stringify(content));
			await run(['bulk', operation, file, ...more]);
		} finally {
			await rm(folder, { recursive: true });
		}
	};
	const kv: SkillsKv = {
		get: async (key) => {
			try {
				return (await run(['key', 'get', key])) || null;
			} catch (error) {
				// The key does not exist. If the namespace does not exist, `list` fails.
				if (/404: Not Found|10009|key not found/i.test(toMessageText(error))) return null;
				throw error;
			}
		},
		// Wrangler prints the list of keys at the log level `log`.
		list: async (prefix) =>
			v.parse(keyList, JSON.parse(await run(['key', 'list', '--prefix', prefix], 'log'))).map(({ name }) => name),
		put: (entries) =>
			bulk(
				'put',
				entries.map(([key, value]) => ({ key, value })),
			),
		delete: (keys) => bulk('delete', keys, '--force'),
	};
	return { kv, close: async () => {} };
}

const namespaces = v.optional(
	v.array(v.object({ binding: v.string(), id: v.optional(v.string()), preview_id: v.optional(v.string()) })),
	[],
);
/** Environments do not inherit the namespaces, so each environment lists its own. */
const settings = v.object({
	kv_namespaces: namespaces,
	env: v.optional(v.record(v.string(), v.object({ kv_namespaces: namespaces }))),
});

/**
 * Finds the name under which `wrangler dev` stores a KV namespace on this machine. Returns undefined if the
 * configuration has no such binding. Reads TOML without Wrangler, whose code takes most of a second to load.
 * Throws if the configuration cannot be read or has no such environment.
 */
export async function findNamespace(
	binding: string,
	{ config, env = process.env.CLOUDFLARE_ENV }: { readonly config: string; readonly env?: string },
): Promise<string | undefined> {
	const { kv_namespaces } = config.endsWith('.toml') ? await readToml(config, env) : await readJson(config, env);
	const found = kv_namespaces.find((one) => one.binding === binding);
	return found && (found.preview_id ?? found.id ?? found.binding);
}

async function readToml(config: string, env: string | undefined) {
	const top = check(settings, await parseToml(config), config);
	if (!env || top.env === undefined) return top;
	const found = top.env[env];
	if (found !== undefined) return found;
	throw new Error(`--env ${env}: ${config} has no such environment. It has: ${Object.keys(top.env).join(', ')}.`);
}

async function readJson(config: string, env: string | undefined) {
	const { unstable_readConfig } = await loadWrangler();
	return check(settings, unstable_readConfig({ config, ...(env && { env }) }, { hideWarnings: true }), config);
}

async function parseToml(config: string): Promise<unknown> {
	try {
		return parse(await readFile(config, 'utf8'));
	} catch (error) {
		throw new Error(`${config}: ${toMessageText(error)}`, { cause: error });
	}
}
