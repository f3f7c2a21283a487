import { readFile } from 'node:fs/promises';
import { parse } from 'smol-toml';
import * as v from 'valibot';
import { check } from '../../core/ground/check.ts';
import { toMessageText } from '../../core/ground/errors.ts';
import { loadWrangler } from '../wrangler.ts';

const namespaces = v.optional(
	v.array(v.object({ binding: v.string(), id: v.optional(v.string()), preview_id: v.optional(v.string()) })),
	[],
);
/** Environments do not inherit the namespaces. */
const settings = v.object({
	kv_namespaces: namespaces,
	env: v.optional(v.record(v.string(), v.object({ kv_namespaces: namespaces }))),
});

/**
 * Finds the name under which `wrangler dev` keeps a KV namespace on this machine, or undefined if the configuration has
 * no such binding. Reads TOML without Wrangler, whose code takes most of a second to load. Throws if the configuration
 * cannot be read or has no such environment.
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
