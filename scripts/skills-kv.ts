import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../src/errors.ts';
import { quietEnv, wranglerPath } from './wrangler.ts';

/** The part of a KV namespace that publishing needs. */
export interface SkillsKv {
	get(key: string): Promise<string | null>;
	put(key: string, value: string): Promise<void>;
	delete(key: string): Promise<void>;
}

/** An opened namespace. */
export interface OpenedKv {
	readonly kv: SkillsKv;
	close(): Promise<void>;
}

/** Which namespace: the binding `SKILLS` of a Wrangler configuration. */
export interface Where {
	readonly config: string;
	readonly env: string | undefined;
	/** The folder of `wrangler dev --persist-to`; local only. */
	readonly persistTo: string;
}

interface Settings {
	readonly kv_namespaces: readonly { readonly binding: string; readonly id?: string }[];
}

/**
 * The KV that `wrangler dev --persist-to DIR` serves. Opened without the rest of the Worker: `getPlatformProxy` would set
 * up every binding, and warn of the Durable Objects that it cannot.
 */
export async function openLocal({ config, env, persistTo }: Where): Promise<OpenedKv> {
	const [{ Miniflare }, { unstable_readConfig }] = await Promise.all([import('miniflare'), import('wrangler')]);
	const settings: Settings = unstable_readConfig({ config, ...(env && { env }) }, { hideWarnings: true });
	const namespace = settings.kv_namespaces.find(({ binding }) => binding === 'SKILLS');
	if (namespace === undefined) throw new Error(`${config} has no KV namespace with the binding SKILLS.`);
	const miniflare = new Miniflare({
		modules: true,
		script: '',
		cf: false,
		kvNamespaces: { SKILLS: namespace.id ?? namespace.binding },
		kvPersist: resolve(persistTo, 'v3', 'kv'),
	});
	const kv: SkillsKv = await miniflare.getKVNamespace('SKILLS');
	return { kv, close: () => miniflare.dispose() };
}

/** The deployed KV, through `wrangler kv key …`: one child process an operation, with Wrangler's own login. */
export function openRemote({ config, env }: Where): OpenedKv {
	const where = ['--binding', 'SKILLS', '--remote', '--config', config, ...(env ? ['--env', env] : [])];
	const run = async (...args: string[]) => {
		const options = { env: { ...quietEnv, WRANGLER_LOG: 'error' }, maxBuffer: 64 * 1024 * 1024 };
		const command = ['--no-warnings', wranglerPath, 'kv', 'key', ...args, ...where];
		return (await promisify(execFile)(process.execPath, command, options)).stdout;
	};
	const kv: SkillsKv = {
		get: async (key) => {
			try {
				return (await run('get', key)) || null;
			} catch (error) {
				// 10009: https://developers.cloudflare.com/api/resources/kv/ ("key not found")
				if (/10009|key not found/i.test(messageOf(error))) return null;
				throw error;
			}
		},
		put: async (key, value) => {
			const folder = await mkdtemp(join(tmpdir(), 'runlet-skills-'));
			try {
				await writeFile(join(folder, 'value'), value);
				await run('put', key, '--path', join(folder, 'value'));
			} finally {
				await rm(folder, { recursive: true });
			}
		},
		delete: async (key) => void (await run('delete', key)),
	};
	return { kv, close: async () => {} };
}
