import { env, SELF } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { planSkills, prepareSkill } from '../../../src/core/skill/kv/plan.ts';
import { allEvents, createSession, request, send } from '../../client.ts';
import { prepareMany, publishMany } from '../../core/skill/kv/many.ts';

interface Wire {
	readonly name: string;
	readonly etag: string;
	readonly score?: number;
	readonly [more: string]: unknown;
}

interface Refusal {
	readonly error: { readonly code: string; readonly message: string; readonly data?: Record<string, unknown> };
}

const markdown = (name: string, body = `Text of ${name}.\n`, description = `About ${name}.`, more = '') =>
	`---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}`;

const raw = (method: string, name: string, headers: Record<string, string> = {}, body?: string) =>
	SELF.fetch(`http://localhost/v1/skills/${name}`, { method, headers, body });
const put = (name: string, text = markdown(name), headers: Record<string, string> = {}) =>
	raw('PUT', name, { 'content-type': 'text/markdown', ...headers }, text);
const read = async (name: string) => (await raw('GET', name)).json<Wire>();
const list = async (query = '') =>
	(await request(`/v1/skills${query}`)).json<{ skills: Wire[]; cursor?: string } & Refusal>();
const names = async () => (await list()).skills.map(({ name }) => name);
const readTag = (response: Response) => response.headers.get('etag') ?? '';

async function refused(response: Response, status: number, code: string, message: RegExp) {
	const { error } = await response.json<Refusal>();
	expect({ status: response.status, code: error.code }).toEqual({ status, code });
	expect(error.message).toMatch(message);
	return error.data;
}

/** Publishes skills like `npm run skills`. */
async function publishFolder(skills: Parameters<typeof planSkills>[1]['skills'], now = Date.now()) {
	const keys = (await env.SKILLS.list({ prefix: 'skill:' })).keys.map(({ name }) => name);
	const [index, retired] = await Promise.all([env.SKILLS.get('skill:index'), env.SKILLS.get('skill:retired')]);
	const plan = await planSkills({ index, retired, keys }, { skills, problems: [] }, { now });
	for (const [key, value] of plan.puts) await env.SKILLS.put(key, value);
	if (plan.retired !== undefined) await env.SKILLS.put(...plan.retired);
	if (plan.index !== undefined) await env.SKILLS.put(...plan.index);
	for (const key of plan.deletes) await env.SKILLS.delete(key);
	return plan;
}

beforeEach(async () => {
	for (const { name } of (await env.SKILLS.list()).keys) await env.SKILLS.delete(name);
});

test('a published skill is read as JSON and as its SKILL.md, with its entity tag', async () => {
	const text = markdown('tone', 'Be warm.\n', 'How we write.', 'license: MIT\nmetadata:\n  when: reply, mail\n');
	const created = await put('tone', text);
	expect(created.status).toBe(201);
	const response = await raw('GET', 'tone');
	const etag = readTag(response).slice(1, -1);
	expect(readTag(created)).toBe(`"${etag}"`);
	expect(await response.json()).toEqual({
		name: 'tone',
		description: 'How we write.',
		when: ['reply', 'mail'],
		body: 'Be warm.\n',
		frontMatter: { license: 'MIT' },
		etag,
	});
	const asText = await raw('GET', 'tone', { accept: 'text/markdown' });
	expect(asText.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
	const again = await put('tone', await asText.text(), { 'if-match': readTag(asText) });
	expect([again.status, readTag(again)]).toEqual([200, `"${etag}"`]);
	const unchanged = await raw('GET', 'tone', { 'if-none-match': `W/"other", "${etag}"` });
	expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
});

test('pages list every skill once in the order of the names, and a search lists the best skill first', async () => {
	const skills = await Promise.all(['c', 'a', 'e', 'b', 'd'].map((name) => prepareSkill(name, markdown(name))));
	await publishFolder([...skills, await prepareSkill('tone', markdown('tone', '', 'How we answer customers.'))]);
	const first = await list('?limit=4');
	expect(first.skills.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
	const next = await list(`?limit=4&cursor=${first.cursor}`);
	expect(next.skills.map(({ name }) => name)).toEqual(['e', 'tone']);
	expect(next).not.toHaveProperty('cursor');
	expect(next.skills[1]).toEqual({
		name: 'tone',
		description: 'How we answer customers.',
		etag: (await read('tone')).etag,
	});
	const { skills: found } = await list('?query=answering%20a%20customer');
	expect(found.map(({ name }) => name)).toEqual(['tone']);
	expect(found[0]?.score).toBeGreaterThan(0);
});

test('an existing skill can be replaced only with its newest entity tag', async () => {
	const old = readTag(await put('tone'));
	const data = await refused(
		await put('tone', markdown('tone', 'New')),
		428,
		'precondition_required',
		/^If-Match: .*GET/,
	);
	expect(data).toMatchObject({ field: 'If-Match', etag: old.slice(1, -1) });
	const described = await put('tone', markdown('tone', undefined, 'Other.'), { 'if-match': `"x", ${old}` });
	expect(described.status).toBe(200);
	expect(readTag(described)).not.toBe(old);
	await refused(
		await put('tone', markdown('tone', 'New'), { 'if-match': old }),
		412,
		'precondition_failed',
		/^If-Match: /,
	);
	await refused(
		await put('tone', markdown('tone', 'New'), { 'if-none-match': '*' }),
		412,
		'precondition_failed',
		/^If-None-Match: /,
	);
	await refused(await put('new', markdown('new'), { 'if-match': '*' }), 412, 'precondition_failed', /no such skill/);
	expect(await read('tone')).toMatchObject({ body: 'Text of tone.\n', description: 'Other.' });
	expect(await names()).toEqual(['tone']);
});

test('of two concurrent replacements one succeeds and the other is refused', async () => {
	const etag = readTag(await put('tone'));
	const both = ['One', 'Two'].map((body) => put('tone', markdown('tone', body), { 'if-match': etag }));
	const statuses = (await Promise.all(both)).map(({ status }) => status);
	expect(statuses.toSorted()).toEqual([200, 412]);
	expect(await read('tone')).toMatchObject({ body: statuses[0] === 200 ? 'One' : 'Two' });
	const makers = await Promise.all(['One', 'Two'].map((body) => put('new', markdown('new', body))));
	expect(makers.map(({ status }) => status).toSorted()).toEqual([201, 428]);
});

test('the index contains all skills that were written concurrently', async () => {
	const all = Array.from({ length: 12 }, (_, n) => `s-${String(n).padStart(2, '0')}`);
	const statuses = (await Promise.all(all.map((name) => put(name)))).map(({ status }) => status);
	expect(new Set(statuses)).toEqual(new Set([201]));
	expect(await names()).toEqual(all);
	for (const name of all) expect(await read(name)).toMatchObject({ body: `Text of ${name}.\n` });
});

test('a skill with minor violations is published with warnings', async () => {
	const lines = ['name: list', 'description: Text.', 'version: 2', 'allowed-tools: [pay, Read]', 'metadata:', '  n: 1'];
	const response = await put('list', `---\n${lines.join('\n')}\n---\n\nText.`);
	expect(response.status).toBe(201);
	expect(await response.json()).toEqual({
		name: 'list',
		etag: expect.any(String),
		warnings: [
			{ severity: 'warning', field: 'version', message: expect.any(String), line: 4 },
			{ severity: 'warning', field: 'allowed-tools', message: expect.any(String), line: 5 },
			{ severity: 'warning', field: 'metadata.n', message: expect.any(String), line: 7 },
		],
	});
	expect(await read('list')).toMatchObject({ body: 'Text.', 'allowed-tools': 'pay Read' });
});

test('an invalid skill is refused with every violation, and nothing changes', async () => {
	const data = await refused(
		await put('tone', '---\nname: Tone\n---\n\nx'),
		400,
		'invalid_skill',
		/^body: .*data\.violations/,
	);
	expect(data?.violations).toEqual([
		{ severity: 'error', field: 'description', message: 'description is required', line: 1 },
		{ severity: 'error', field: 'name', message: expect.stringMatching(/a-z/), line: 2 },
		{ severity: 'error', field: 'name', message: expect.stringMatching(/equal/), line: 2 },
	]);
	await refused(await put('tone', ''), 400, 'invalid_skill', /^body: /);
	await refused(await put('tone', markdown('other')), 400, 'invalid_skill', /equal/);
	await refused(await put('tone', markdown('tone', 'x'.repeat(1_000_001))), 413, 'too_large', /^body: .*1000000/);
	await refused(
		await put('tone', '{}', { 'content-type': 'application/json' }),
		415,
		'unsupported_media_type',
		/^content-type: expected text\/markdown/,
	);
	await refused(await put('tone', undefined, { 'if-match': 'abc' }), 400, 'invalid_request', /^If-Match: /);
	await refused(await put('tone', undefined, { 'if-none-match': '"x"' }), 400, 'invalid_request', /^If-None-Match: /);
	expect(await names()).toEqual([]);
});

test('deletes a skill, and refuses If-Match with an old version', async () => {
	const etag = readTag(await put('tone'));
	await refused(await raw('DELETE', 'tone', { 'if-match': '"x"' }), 412, 'precondition_failed', /^If-Match: /);
	expect((await raw('DELETE', 'tone', { 'if-match': etag })).status).toBe(204);
	await refused(await raw('GET', 'tone'), 404, 'not_found', /no such skill/);
	await refused(await raw('DELETE', 'tone'), 404, 'not_found', /no such skill/);
	expect((await put('tone')).status).toBe(201);
	expect((await raw('DELETE', 'tone')).status).toBe(204);
	expect(await names()).toEqual([]);
});

test('refuses an invalid page and an unsupported method', async () => {
	for (const [query, field] of [
		['limit=0', 'limit'],
		['limit=101', 'limit'],
		['cursor=A%20b', 'cursor'],
		['query=x&cursor=a', 'cursor'],
	]) {
		const response = await request(`/v1/skills?${query}`);
		await refused(response, 400, 'invalid_request', new RegExp(`^${field}: `));
	}
	expect((await raw('POST', 'tone', {}, 'x')).headers.get('allow')).toBe('GET, PUT, DELETE');
});

test('the next run reads the newest text of a skill', async () => {
	const text = (body: string) => markdown('tone', body, 'How we write.', 'metadata:\n  when: customer\n');
	const readBy = async () => {
		const events = await allEvents(await send(await createSession('skilled'), 'Reply to this customer, please.'));
		return events.find(({ type }) => type === 'tool_result')?.data.output;
	};
	const etag = readTag(await put('tone', text('Be warm.')));
	expect(await readBy()).toBe('Be warm.');
	await put('tone', text('Be brief.'), { 'if-match': etag });
	expect(await readBy()).toBe('Be brief.');
});

test('a new text of a skill keeps the skill’s other files, which npm run skills published', async () => {
	await publishFolder([await prepareSkill('tone', markdown('tone'), { files: { 'references/x.md': 'X' } })]);
	const { etag } = await read('tone');
	expect((await put('tone', markdown('tone', 'New'), { 'if-match': `"${etag}"` })).status).toBe(200);
	expect(await read('tone')).toMatchObject({ body: 'New', files: { 'references/x.md': 'X' } });
});

test('npm run skills recognizes texts that were published over HTTP, and removes old texts', async () => {
	const same = await prepareSkill('a', markdown('a'));
	const etag = readTag(await put('a', markdown('a', 'Old')));
	await put('b');
	await put('a', markdown('a'), { 'if-match': etag });
	const plan = await publishFolder([same, await prepareSkill('c', markdown('c'))]);
	expect(plan).toMatchObject({ unchanged: ['a'], published: ['c'], removed: ['b'], deletes: [] });
	const later = await publishFolder([same], Date.now() + 3_700_000);
	expect(later.deletes.filter((key) => key.startsWith('skill:body:'))).toHaveLength(2);
	expect((await put('d')).status).toBe(201);
	expect(await names()).toEqual(['a', 'd']);
});

test('a set with shards is listed in pages, searched, read and edited like a small one', async () => {
	const skills = prepareMany(18_000);
	const { plan, values } = await publishMany(skills);
	for (const [key, value] of values) await env.SKILLS.put(key, value);
	await env.SKILLS.put('skill:index', plan.index?.[1] ?? '');
	const sorted = skills.map(({ entry }) => entry.name).sort();
	const first = await list('?limit=100');
	const next = await list(`?limit=100&cursor=${first.cursor}`);
	expect([...first.skills, ...next.skills].map(({ name }) => name)).toEqual(sorted.slice(0, 200));
	expect((await list(`?cursor=${sorted[17_990]}`)).skills).toHaveLength(9);
	expect((await put('tone', markdown('tone', 'Be warm.', 'How we answer customers.'))).status).toBe(201);
	const response = await raw('GET', 'tone');
	expect(await response.json()).toMatchObject({ name: 'tone', body: 'Be warm.' });
	expect((await list('?query=answering%20a%20customer')).skills.map(({ name }) => name)).toEqual(['tone']);
	await refused(await put('tone'), 428, 'precondition_required', /If-Match/);
	expect((await raw('DELETE', 'tone', { 'if-match': readTag(response) })).status).toBe(204);
	await refused(await raw('GET', 'tone'), 404, 'not_found', /no such skill/);
});
