import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashKey, parseKeys, readKeyId } from '../../src/cloudflare/auth/key.ts';
import { toSecret } from '../../src/command/keys/file.ts';
import { startRunlet } from '../runlet.ts';
import { fakeCloudflare } from './cloudflare.ts';
import { runScript } from './scripts.ts';

let folder: string;
let file: string;
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-keys-'));
	file = join(folder, 'keys.json');
});
afterEach(() => rm(folder, { recursive: true }));

const keys = (args: string, env: NodeJS.ProcessEnv = {}) =>
	runScript('keys', [...args.split(' '), '--keys-file', file], env);
const keyIn = (text: string) => /\brl_\w+/.exec(text.replaceAll('-', '_'))?.index ?? -1;
const shown = (text: string) => text.slice(keyIn(text)).split(/\s/)[0] ?? '';
const records = async () => parseKeys(JSON.stringify(JSON.parse(await readFile(file, 'utf8')).keys));

describe('npm run keys', () => {
	test('makes a key that only runs agents, shows it once, and stores only its hash in a private file', async () => {
		const { stdout, code } = await keys('make laptop');
		const key = shown(stdout);
		const id = readKeyId(key);
		expect(code).toBe(0);
		expect(id).toBeDefined();
		expect(stdout).toContain(`curl http://127.0.0.1:8787/v1/agents -H 'authorization: Bearer ${key}'`);
		expect(await records()).toMatchObject([
			{ id, name: 'laptop', owner: id, scopes: ['run'], hash: await hashKey(key) },
		]);
		expect(await readFile(file, 'utf8')).not.toContain(key.slice(-43));
		expect((await stat(file)).mode & 0o777).toBe(0o600);
		expect(await readdir(folder)).toEqual(['keys.json']);
	});

	test('makes no key if npm has consumed an option, and shows where the option belongs', async () => {
		const given = { npm_config_day_usd: '5', npm_config_owner: '', npm_lifecycle_event: 'keys' };
		const { stderr, code } = await keys('make capped', given);
		expect(code).toBe(2);
		expect(stderr).toContain(
			'--day-usd: npm took this option for itself. Put -- in front of all options: npm run keys --',
		);
		expect(await readdir(folder)).toEqual([]);
	});

	test('makes a second key with scopes and a day budget for an owner, and revokes the first key by its id', async () => {
		const first = readKeyId(shown((await keys('make')).stdout)) ?? '';
		const second = shown(
			(await keys(`make --owner ${first} --scope run,admin --day-tokens 1000 --day-usd 2.5`)).stdout,
		);
		const secondId = readKeyId(second) ?? '';
		expect((await keys('list')).stdout).toMatch(
			new RegExp(
				`^key ${first}, owner ${first}, run, .*\nkey ${secondId}, owner ${first}, run\\+admin, 1000 tokens a day, \\$2.50 a day, `,
			),
		);
		expect((await keys(`revoke ${first}`)).stdout).toContain(`Revoked ${first}.`);
		const budget = { tokens: 1000, usd: 2.5 };
		expect(await records()).toMatchObject([{ id: secondId, owner: first, scopes: ['run', 'admin'], budget }]);
		expect((await keys(`revoke ${second}`)).stdout).toContain('no keys left');
		expect(await records()).toEqual([]);
	});

	test('names the owner of each key, and reports a new owner', async () => {
		const { stdout: alone } = await keys('make shop --day-usd 5');
		const id = readKeyId(shown(alone));
		expect(alone).toContain(`key ${id}, shop, owner ${id}, run, $5 a day`);
		expect(alone).not.toContain('is new');
		const { stdout: first } = await keys('make shop --owner shop');
		expect(first).toContain(', shop, owner shop, run, ');
		expect(first).toContain('The owner shop is new: no other key of ');
		expect((await keys('make till --owner shop')).stdout).not.toContain('is new');
	});

	test('prints the help and then the mistake if an option is invalid', async () => {
		expect((await keys('make --day-usd 0')).stderr).toMatch(/--help +this text\n\nkeys: --day-usd 0: [^\n]*\n$/);
	});

	test('prints a command that tries the key under the base path of the Worker', async () => {
		const { stdout } = await keys('make --base-path /ai');
		expect(stdout).toContain('To try it, with npm start -- --keys --base-path /ai and the port of your server:');
		expect(stdout).toMatch(/curl http:\/\/127\.0\.0\.1:8787\/ai\/v1\/agents /);
	});

	test('rotates a key: makes a new key with the same rights, and lets the old key expire', async () => {
		const made = shown((await keys('make --scope run,admin --day-usd 2.5')).stdout);
		const [first] = await records();
		const { stdout, code } = await keys(`rotate ${first?.id} --overlap-days 3`);
		expect(code).toBe(0);
		const [old, next] = await records();
		const { id = '', expiresAt = '' } = old ?? {};
		expect(old).toEqual({ ...first, expiresAt });
		expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(2.9 * 86_400_000);
		expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(3 * 86_400_000);
		const { owner, scopes, budget } = first ?? {};
		expect(next).toMatchObject({ owner, scopes, budget, hash: await hashKey(shown(stdout)) });
		expect(next?.id).not.toBe(id);
		expect(stdout).toContain(`Both keys are good until ${expiresAt}`);
		expect((await keys('list')).stdout).toMatch(
			new RegExp(`^key ${id}, .*, ends ${expiresAt}\nkey ${next?.id}, owner ${id}, `),
		);
		expect(await keys(`rotate ${made}`)).toMatchObject({
			code: 1,
			stderr: expect.stringContaining('another one took its place'),
		});
		expect((await keys(`rotate ${next?.id} --overlap-days 0`)).stdout).toContain(`${next?.id} has ended`);
		expect((await keys('list')).stdout).toContain(', ended 20');
		expect(toSecret(await records())).toContain(`"expiresAt":"${expiresAt}"`);
	});

	test.each([
		['rotate', 2, 'Which one? npm run keys -- rotate ID'],
		['rotate nobody', 1, 'There is no key nobody'],
		['rotate nobody --overlap-days 1.5', 2, '--overlap-days 1.5: expected a whole number from 0 to 365'],
		['rotate nobody --overlap-days 400', 2, '--overlap-days 400'],
		['make --scope root', 2, '--scope root: expected run, admin'],
		['make --day-usd 0', 2, '--day-usd 0: expected a number above 0'],
		['make --day-tokens 1.5', 2, '--day-tokens 1.5'],
		['make --rate 0', 2, '--rate 0: expected a whole number of requests'],
		['make --owner Big!', 2, '--owner: expected a–z'],
		['revoke nobody', 1, 'There is no key nobody'],
		['revoke', 2, 'Which one?'],
		['steal', 2, '"steal" is no command'],
	])('refuses "%s" and changes nothing', async (args, code, words) => {
		expect(await keys(args)).toMatchObject({ code, stderr: expect.stringContaining(words), stdout: '' });
		expect(await readdir(folder)).toEqual([]);
	});

	test('refuses an unreadable file, and does not overwrite it', async () => {
		await writeFile(file, '{"keys":[{"id":"mine"}]}');
		expect(await keys('make')).toMatchObject({ code: 1, stderr: expect.stringContaining('not a list of keys') });
		expect(await readFile(file, 'utf8')).toBe('{"keys":[{"id":"mine"}]}');
		expect(await readdir(folder)).toEqual(['keys.json']);
	});

	test('refuses a key that makes the list too long for a secret', async () => {
		const many = Array.from({ length: 68 }, (_, n) => ({ id: `abcdefgh${n}`, hash: 'a'.repeat(43) }));
		await writeFile(file, JSON.stringify({ keys: many }));
		expect(await keys('make')).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/a secret of Cloudflare holds 5000: revoke/),
		});
		expect(await records()).toHaveLength(68);
	});

	test('refuses to change the list while another command changes the list', async () => {
		await keys('make');
		const before = await readFile(file, 'utf8');
		await writeFile(`${file}.new`, '');
		expect(await keys('make')).toMatchObject({
			code: 1,
			stderr: expect.stringContaining('another command changes the keys'),
		});
		expect(await readFile(file, 'utf8')).toBe(before);
		expect((await readdir(folder)).sort()).toEqual(['keys.json', 'keys.json.new']);
	});
});

describe('npm run keys -- --remote', () => {
	let cloudflare: Awaited<ReturnType<typeof fakeCloudflare>>;
	beforeEach(async () => {
		cloudflare = await fakeCloudflare();
		cloudflare.scripts.set('runlet', { secrets: {}, metadata: { bindings: [] } });
	});
	afterEach(() => cloudflare.close());
	const secret = () => cloudflare.scripts.get('runlet')?.secrets.API_KEYS ?? '';

	test('uploads each change of the keys, and commands without --remote report that a change is not uploaded', async () => {
		const made = await keys('make --remote', cloudflare.env);
		const key = shown(made.stdout);
		expect(made).toMatchObject({ code: 0, stderr: '' });
		expect(parseKeys(secret())).toMatchObject([{ id: readKeyId(key), hash: await hashKey(key) }]);
		expect(secret()).not.toContain(key.slice(-43));
		expect((await keys('make')).stdout).toContain('does not take it yet: npm run keys -- list --remote');
		expect((await keys('list')).stdout).toContain('has another list: npm run keys -- list --remote');
		expect((await keys('list --remote', cloudflare.env)).stdout).toContain('has this list now');
		expect((await keys('list')).stdout).toContain('has this list.');
		expect(parseKeys(secret())).toEqual((await records()).map(({ createdAt: _, ...record }) => record));
		await keys(`revoke ${readKeyId(key)} --remote`, cloudflare.env);
		expect(parseKeys(secret())).toEqual((await records()).map(({ createdAt: _, ...record }) => record));
		expect(secret()).not.toContain(readKeyId(key));
	});

	test('replaces keys from another source only with --replace', async () => {
		cloudflare.scripts.set('runlet', { secrets: { API_KEYS: 'theirs' }, metadata: { bindings: [] } });
		const refused = await keys('make --remote', cloudflare.env);
		expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('would replace them') });
		expect(refused.stderr).toContain('npm run keys -- list --remote');
		expect(secret()).toBe('theirs');
		expect((await keys('list --remote --replace', cloudflare.env)).code).toBe(0);
		expect(parseKeys(secret())).toHaveLength(1);
	});
});

describe('npm start -- --keys', () => {
	let runlet: Awaited<ReturnType<typeof startRunlet>> | undefined;
	let home: string;
	/** A key that is made and revoked before the start. The keys below stay valid. */
	let revoked: string;
	let second: string;
	let boss: string;
	beforeAll(async () => {
		home = await mkdtemp(join(tmpdir(), 'runlet-keys-start-'));
		file = join(home, 'keys.json');
		[revoked, second] = [shown((await keys('make')).stdout), shown((await keys('make')).stdout)];
		await keys(`revoke ${revoked}`);
		boss = shown((await keys('make boss --scope keys,admin')).stdout);
	});
	afterAll(async () => {
		await runlet?.close();
		await rm(home, { recursive: true });
	});

	test('answers only a request with a valid key', async () => {
		file = join(home, 'keys.json');
		runlet = await startRunlet('--keys-file', file, '--var', 'STORED_KEYS:on');
		const { url } = runlet;
		const status = async (key?: string) =>
			(await fetch(`${url}/v1/sessions`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }))
				.status;
		expect([await status(), await status(revoked), await status(second)]).toEqual([401, 401, 200]);
	});

	test('makes, lists and revokes stored keys over HTTP', async () => {
		file = join(home, 'keys.json');
		const url = runlet?.url ?? '';
		const stored = (args: string) => keys(`${args} --stored`, { RUNLET_URL: `${url}/`, RUNLET_API_KEY: boss });
		const made = await stored('make shop --owner shop --day-usd 2.5');
		expect(made.stderr).toBe('');
		const key = shown(made.stdout);
		const open = async () =>
			(await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${key}` } })).status;
		expect(await open()).toBe(200);
		expect((await stored('list')).stdout).toBe(`key ${readKeyId(key)}, shop, owner shop, admin, run, $2.50 a day\n`);
		expect((await stored(`revoke ${key}`)).stdout).toContain('within a minute it opens nothing anywhere');
		expect(await open()).toBe(401);
		expect((await stored('list')).stdout).toContain('There are no stored keys.');
		expect(await stored(`revoke ${key}`)).toMatchObject({ code: 2, stderr: expect.stringContaining('no such key') });
		expect(await keys('make --stored')).toMatchObject({ code: 2, stderr: expect.stringContaining('--url') });
	});
});
