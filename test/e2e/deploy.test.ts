import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { root } from '../../scripts/root.ts';
import { hashKey, parseKeys, readKeyId } from '../../src/cloudflare/auth/key.ts';
import { fakeCloudflare } from './cloudflare.ts';
import { runCommand, runScript } from './scripts.ts';

/** A deploy starts Wrangler a dozen times. */
vi.setConfig({ testTimeout: 300_000 });

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-deploy-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** An environment without a login to Cloudflare. */
const nobody = () => ({ HOME: folder, XDG_CONFIG_HOME: folder, CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_API_KEY: '' });

describe('npm run deploy -- --dry-run', () => {
	test('builds the Worker with all Durable Objects, and needs no account', async () => {
		const outdir = join(folder, 'out');
		const file = join(folder, 'none.json');
		const ended = await runScript('deploy', ['--dry-run', '--outdir', outdir, '--keys-file', file], nobody());
		expect(ended.code, ended.stderr).toBe(0);
		expect(ended.stdout).toContain('Nothing was deployed.');
		expect(ended.stderr).toMatch(/^Answered by demo, .*: assistant, .*triage.*\. Set MODEL /m);
		expect(ended.stderr).toMatch(
			/needs it as a secret .*:\n {2}agent triage: GITHUB_WEBHOOK_SECRET: .*\n {2}links: PUBLIC_URL: not set.*\n$/,
		);
		const worker = await readFile(join(outdir, 'worker.js'));
		// After the `export`, the file contains only notices of licences.
		const exported = [...worker.toString().matchAll(/\bexport ?\{([^}]*)\}/g)].at(-1)?.[1] ?? '';
		const names = exported.split(',').map((name) => name.trim().split(' as ').at(-1));
		const configured = await readFile(join(import.meta.dirname, '../../wrangler.toml'), 'utf8');
		const classes = [...configured.matchAll(/^class_name = "(\w+)"/gm)].map(([, name]) => name);
		expect(classes).toContain('Session');
		expect(names).toEqual(expect.arrayContaining([...classes, 'default']));
		// The code is minified. A source map makes its stacks readable, and a deploy uploads the map.
		expect(worker.toString().split('\n').length).toBeLessThan(2_000);
		expect(await readFile(join(outdir, 'worker.js.map'), 'utf8')).toContain('src/cloudflare/session/object.ts');
		expect(configured).toMatch(/^upload_source_maps = true$/m);
		// The limit is 3 MB on the free plan (https://developers.cloudflare.com/workers/platform/limits/).
		expect(gzipSync(worker).byteLength).toBeLessThan(1_500_000);
	});

	test('shows how to log in if nobody is logged in, and creates nothing', async () => {
		const file = join(folder, 'nobody.json');
		const ended = await runScript('deploy', ['--yes', '--keys-file', file], nobody());
		expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('npx wrangler login') });
		await expect(readFile(file)).rejects.toThrow();
	});
});

/** Creates a project that builds fast: it has a Worker of one line, and no skills. */
async function createSmallProject(): Promise<string> {
	const project = await mkdtemp(join(folder, 'small-'));
	const config = await readFile(join(root, 'wrangler.toml'), 'utf8');
	const [, date = ''] = /^(compatibility_date = .*)$/m.exec(config) ?? [];
	await writeFile(join(project, 'wrangler.toml'), `name = "runlet"\nmain = "worker.js"\n${date}\n`);
	await writeFile(join(project, 'worker.js'), "export default { fetch: () => new Response('here') };\n");
	await writeFile(join(project, 'package.json'), '{}');
	await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
	return project;
}

describe('npm run deploy', () => {
	let cloudflare: Awaited<ReturnType<typeof fakeCloudflare>>;
	let file: string;
	beforeEach(async () => {
		cloudflare = await fakeCloudflare();
		file = join(await mkdtemp(join(folder, 'case-')), 'keys.json');
	});
	afterEach(() => cloudflare.close());
	const deploy = (...args: string[]) => runScript('deploy', ['--keys-file', file, ...args], cloudflare.env);
	const deploySmall = async () =>
		runCommand(await createSmallProject(), ['deploy', '--keys-file', file, '--yes'], cloudflare.env);

	test('creates KV, a first key and the Worker, publishes the skills, and creates nothing twice', async () => {
		const first = await deploy('--yes');
		expect(first.code, first.stderr).toBe(0);
		expect(cloudflare.unknown).toEqual([]);
		const worker = cloudflare.scripts.get('runlet');
		const key =
			/curl https:\/\/runlet\.who\.workers\.dev\/v1\/agents -H 'authorization: Bearer (\S+)'/.exec(first.stdout)?.[1] ??
			'';
		expect(parseKeys(worker?.secrets.API_KEYS ?? '')).toMatchObject([{ id: readKeyId(key), hash: await hashKey(key) }]);
		expect([...cloudflare.namespaces.values()].map(({ title }) => title)).toEqual(['runlet-skills']);
		const values = cloudflare.namespaces.get('namespace1')?.values;
		expect(values?.has('skill:index')).toBe(true);
		const bound = { name: 'SKILLS', type: 'kv_namespace', namespace_id: 'namespace1' };
		expect(worker?.metadata.bindings).toContainEqual(bound);

		const entries = [...(values ?? [])];
		const again = await deploy();
		expect(again.code, again.stderr).toBe(0);
		expect(again.stdout).not.toContain('rl_');
		const after = cloudflare.scripts.get('runlet');
		expect(after?.secrets).toEqual(worker?.secrets);
		expect(after?.metadata.bindings).toContainEqual(bound);
		expect(cloudflare.namespaces.size).toBe(1);
		expect([...(cloudflare.namespaces.get('namespace1')?.values ?? [])]).toEqual(entries);
	});

	test('deploys nothing if no key exists and --yes is not set', async () => {
		expect(await deploy()).toMatchObject({ code: 1, stderr: expect.stringContaining('npm run deploy -- --yes') });
		expect(cloudflare.scripts.size).toBe(0);
	});

	test('does not change the existing keys of the Worker', async () => {
		cloudflare.scripts.set('runlet', { secrets: { API_KEYS: 'theirs' }, metadata: { bindings: [] } });
		const ended = await deploySmall();
		expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('they stay as they are') });
		expect(cloudflare.scripts.get('runlet')?.secrets).toEqual({ API_KEYS: 'theirs' });
	});

	test('names the remedy for an account without R2', async () => {
		cloudflare.refusal.next = { code: 10042, message: 'Please enable R2 through the Cloudflare Dashboard.' };
		const ended = await deploySmall();
		expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('[[r2_buckets]]') });
	});

	test('names the remedy for an account without Analytics Engine', async () => {
		cloudflare.refusal.next = { code: 10089, message: 'workers.api.error.no_access_to_analytics_engine' };
		const ended = await deploySmall();
		expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('[[analytics_engine_datasets]]') });
	});
});
