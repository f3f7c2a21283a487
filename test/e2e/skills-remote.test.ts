import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';

/**
 * Cloudflare's API for a KV namespace (https://developers.cloudflare.com/api/resources/kv/), which lists two keys
 * in each page.
 */
const values = new Map<string, string>();
const requests: string[] = [];
const pairs = v.array(v.object({ key: v.string(), value: v.string() }));
const ok = (result: unknown, info: object = {}) => ({
	success: true,
	errors: [],
	messages: [],
	result,
	result_info: info,
});

const server = createServer(async (request, response) => {
	const { pathname, searchParams } = new URL(request.url ?? '', 'http://api');
	const [, operation = '', key = ''] = /namespaces\/ns\/(keys|bulk|values)(?:\/(.*))?$/.exec(pathname) ?? [];
	requests.push(`${request.method} ${operation}`);
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	const body = Buffer.concat(chunks).toString();
	const send = (status: number, json: object) =>
		response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
	if (operation === 'keys') {
		const all = [...values.keys()].filter((name) => name.startsWith(searchParams.get('prefix') ?? '')).sort();
		const from = Number(searchParams.get('cursor') || 0);
		const names = all.slice(from, from + 2).map((name) => ({ name }));
		return send(200, ok(names, { count: names.length, cursor: from + 2 < all.length ? String(from + 2) : '' }));
	}
	if (operation === 'bulk' && request.method === 'PUT') {
		for (const { key, value } of v.parse(pairs, JSON.parse(body))) values.set(key, value);
		return send(200, ok({}));
	}
	if (operation === 'bulk') {
		for (const name of v.parse(v.array(v.string()), JSON.parse(body))) values.delete(name);
		return send(200, ok({}));
	}
	const value = values.get(decodeURIComponent(key));
	if (value !== undefined) return response.end(value);
	return send(404, {
		success: false,
		errors: [{ code: 10009, message: 'get: key not found' }],
		messages: [],
		result: null,
	});
});

let folder: string;
const skill = async (name: string, body: string) => {
	await mkdir(join(folder, 'skills', name), { recursive: true });
	await writeFile(
		join(folder, 'skills', name, 'SKILL.md'),
		`---\nname: ${name}\ndescription: About ${name}\n---\n\n${body}\n`,
	);
};
const publish = async (where = '--remote', ...more: string[]) => {
	const address = server.address();
	const port = typeof address === 'object' ? address?.port : undefined;
	const args = [
		join(import.meta.dirname, '../../src/command/bin.ts'),
		'skills',
		where,
		'--directory',
		join(folder, 'skills'),
	];
	const env = {
		...process.env,
		CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
		CLOUDFLARE_API_TOKEN: 'token',
		CLOUDFLARE_ACCOUNT_ID: 'account',
	};
	return promisify(execFile)(process.execPath, [...args, '--config', join(folder, 'wrangler.toml'), ...more], { env });
};

beforeAll(async () => {
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	folder = await mkdtemp(join(tmpdir(), 'runlet-remote-'));
	const namespace = '[[kv_namespaces]]\nbinding = "SKILLS"\nid = "ns"\n';
	await writeFile(join(folder, 'wrangler.toml'), `name = "r"\ncompatibility_date = "2026-07-30"\n${namespace}`);
});
afterAll(async () => {
	server.close();
	await rm(folder, { recursive: true });
});

test('--remote writes all new entries in one request and then the index, and later writes only changes', async () => {
	await skill('a', 'One');
	await skill('b', 'Two');
	requests.length = 0;
	expect((await publish()).stdout).toBe('skills: 2 published (a, b), 0 unchanged\n');
	expect(requests.slice(0, 3).sort()).toEqual(['GET keys', 'GET values', 'GET values']);
	expect(requests.slice(3)).toEqual(['PUT bulk', 'PUT bulk']);
	expect([...values.keys()].map((key) => key.split(':')[1]).sort()).toEqual(['body', 'body', 'index', 'search']);

	await skill('c', 'Not yet');
	await skill('a', 'Three');
	expect((await publish()).stdout).toBe('skills: 2 published (a, c), 1 unchanged\n');
	expect([...values.values()].filter((value) => value.includes('Three'))).toHaveLength(1);
	expect([...values.values()].filter((value) => value.includes('One'))).toHaveLength(1);

	const retired = JSON.parse(values.get('skill:retired') ?? '{}');
	for (const key of Object.keys(retired.at)) retired.at[key] = 0;
	values.set('skill:retired', JSON.stringify(retired));
	await publish();
	expect([...values.values()].filter((value) => value.includes('One'))).toHaveLength(0);
});

test('--dry-run lists the skills to publish, and writes nothing', async () => {
	const local = ['--local', '--persist-to', join(folder, 'state')] as const;
	const would = await publish(...local, '--dry-run');
	expect(would.stdout).toBe('skills (dry run): 3 published (a, b, c), 0 unchanged\n');
	expect((await publish(...local)).stdout).toBe('skills: 3 published (a, b, c), 0 unchanged\n');
});
