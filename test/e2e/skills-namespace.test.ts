import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { unstable_getMiniflareWorkerOptions } from 'wrangler';
import { findNamespace } from '../../src/command/skills/kv.ts';

let folder: string;
beforeAll(async () => {
	// Hides the warnings of Wrangler about missing bindings, which the environments lack on purpose.
	vi.stubEnv('WRANGLER_LOG', 'error');
	folder = await mkdtemp(join(tmpdir(), 'runlet-namespace-'));
	await writeFile(join(folder, 'worker.ts'), '');
});
afterAll(() => {
	vi.unstubAllEnvs();
	return rm(folder, { recursive: true, force: true });
});

async function writeConfig(name: string, text: string): Promise<string> {
	const config = join(folder, name);
	await writeFile(config, text);
	return config;
}

/** The configuration as `wrangler dev` parses it. */
const served = v.object({ kvNamespaces: v.record(v.string(), v.object({ id: v.string() })) });

const top = `name = "shop"
main = "worker.ts"
compatibility_date = "2026-07-30"
`;
const toml = `${top}kv_namespaces = [
	{ binding = "SKILLS" },
	{ binding = "DEPLOYED", id = "at-cloudflare" },
	{ binding = "PREVIEWED", id = "at-cloudflare", preview_id = "preview" },
]
[env.live]
name = "live"
[[env.live.kv_namespaces]]
binding = "SKILLS"
id = "live"
[env.empty]
name = "empty"
`;
const jsonc = `{ // The same in JSON.
	"name": "shop", "main": "worker.ts", "compatibility_date": "2026-07-30",
	"kv_namespaces": [{ "binding": "SKILLS", "id": "in-json" }],
	"env": { "live": { "kv_namespaces": [{ "binding": "SKILLS", "preview_id": "preview" }] } },
}`;

test.each([
	['wrangler.toml', toml, [undefined, 'live', 'empty']],
	['bare.toml', top, [undefined, 'live']],
	['wrangler.jsonc', jsonc, [undefined, 'live']],
] as const)(
	'finds the same KV namespace for each binding as wrangler dev, in each environment of %s',
	async (name, text, envs) => {
		const config = await writeConfig(name, text);
		for (const env of envs) {
			const { kvNamespaces } = v.parse(served, unstable_getMiniflareWorkerOptions(config, env).workerOptions);
			const bindings = ['SKILLS', 'DEPLOYED', 'PREVIEWED', 'NONE'];
			const found = await Promise.all(bindings.map((binding) => findNamespace(binding, { config, env })));
			expect(found).toEqual(bindings.map((binding) => kvNamespaces[binding]?.id));
		}
	},
);

test('without --env, CLOUDFLARE_ENV names the environment, as for wrangler dev', async () => {
	vi.stubEnv('CLOUDFLARE_ENV', 'live');
	expect(await findNamespace('SKILLS', { config: await writeConfig('wrangler.toml', toml) })).toBe('live');
});

test.each([
	['a line that is no TOML', 'name = \n', undefined, /wrangler\.toml: Invalid TOML document: [\s\S]*1: {2}name = /],
	['a field of another type', 'kv_namespaces = "SKILLS"\n', undefined, /^kv_namespaces: .*expected a list/],
	['an unknown environment', toml, 'test', /^--env test: .*no such environment\. It has: live, empty\.$/],
])('names the place of the mistake in the error for %s', async (_, text, env, words) => {
	const config = await writeConfig('wrangler.toml', text);
	await expect(findNamespace('SKILLS', { config, env })).rejects.toThrow(words);
});
