import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { publishSkills, readSkillFolders } from '../../scripts/skills.ts';
import type { SkillsKv } from '../../scripts/skills-kv.ts';
import { planSkills, type SkillFolder } from '../../scripts/skills-plan.ts';
import { kvResolver, type SkillStore } from '../../src/skill/kv.ts';

const markdown = (name: string, { description = `About ${name}`, body = `Body of ${name}\n`, more = '' } = {}) =>
	`---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}`;

const folder = (name: string, files: Record<string, string> = {}): SkillFolder => ({
	name,
	files: { 'SKILL.md': markdown(name), ...files },
});

describe('planSkills', () => {
	const first = planSkills(null, [folder('a'), folder('b')]);

	test('an empty KV gets every body and an index of them', () => {
		expect(first.published).toEqual(['a', 'b']);
		expect(first.deletes).toEqual([]);
		expect(first.indexKey).toBe('skill:index');
		const { version, skills } = JSON.parse(first.index ?? '');
		expect(version).toBe(1);
		expect(skills.map(({ hash }: { hash: string }) => `skill:body:${hash}`)).toEqual(first.puts.map(([key]) => key));
		expect(skills[0]).toEqual({ name: 'a', description: 'About a', hash: expect.stringMatching(/^[0-9a-f]{32}$/) });
		expect(first.puts[0]?.[1]).toBe('{"body":"Body of a\\n"}');
	});

	test('the index says which tools a skill allows', () => {
		const text = markdown('a', { more: 'allowed-tools: pay Bash(git:*)\n' });
		const { index } = planSkills(null, [{ name: 'a', files: { 'SKILL.md': text } }]);
		expect(JSON.parse(index ?? '').skills[0]).toMatchObject({ 'allowed-tools': 'pay Bash(git:*)' });
	});

	test('an index that says the same leaves nothing to write', () => {
		const again = planSkills(first.index ?? null, [folder('a'), folder('b')]);
		expect(again).toMatchObject({ puts: [], deletes: [], published: [], unchanged: ['a', 'b'], removed: [] });
		expect(again).not.toHaveProperty('index');
	});

	test('a new description writes the index and no body', () => {
		const changed = { name: 'a', files: { 'SKILL.md': markdown('a', { description: 'Other' }) } };
		const plan = planSkills(first.index ?? null, [changed, folder('b')]);
		expect(plan).toMatchObject({ puts: [], deletes: [], published: ['a'], unchanged: ['b'] });
		expect(plan.index).toContain('Other');
	});

	test('a changed body is put under a new key and the old one deleted; a missing folder removes its skill', () => {
		const changed = { name: 'a', files: { 'SKILL.md': markdown('a', { body: 'New' }) } };
		const plan = planSkills(first.index ?? null, [changed]);
		expect(plan.puts.map(([, value]) => value)).toEqual(['{"body":"New"}']);
		expect(plan.deletes).toEqual(first.puts.map(([key]) => key));
		expect(plan).toMatchObject({ published: ['a'], removed: ['b'] });
	});

	test('a body that another skill still has is kept', () => {
		const twin = (name: string) => ({ name, files: { 'SKILL.md': markdown(name, { body: 'Same' }) } });
		const both = planSkills(null, [twin('a'), twin('b')]);
		expect(both.puts).toHaveLength(1);
		expect(planSkills(both.index ?? null, [twin('b')]).deletes).toEqual([]);
	});

	test('files beside SKILL.md are part of the body and of its hash', () => {
		const plan = planSkills(first.index ?? null, [folder('a', { 'references/x.md': 'X' }), folder('b')]);
		expect(plan.puts.map(([, value]) => JSON.parse(value).files)).toEqual([{ 'references/x.md': 'X' }]);
		expect(JSON.parse(plan.index ?? '').skills[0].files).toEqual(['references/x.md']);
	});

	test('a skill that is not valid is reported with its line and stays as it was, and the others go on', () => {
		const broken = { name: 'a', files: { 'SKILL.md': markdown('A b', { body: 'New' }) } };
		const plan = planSkills(first.index ?? null, [broken, folder('b'), folder('c')]);
		expect(plan.problems[0]).toMatchObject({ skill: 'a', file: 'SKILL.md', line: 2 });
		expect(plan).toMatchObject({ published: ['c'], unchanged: ['b'], removed: [], deletes: [] });
		expect(JSON.parse(plan.index ?? '').skills.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c']);
	});

	test('a folder without SKILL.md and front matter that cannot be read are problems, not crashes', () => {
		const plan = planSkills(null, [
			{ name: 'a', files: {} },
			{ name: 'b', files: { 'SKILL.md': '---\nname: [' } },
		]);
		expect(plan.problems.map(({ skill }) => skill)).toEqual(['a', 'b']);
		expect(plan.puts).toEqual([]);
	});

	test.each(['{', '[]', '{"version":2,"skills":[]}', '{"version":1,"skills":[1]}'])(
		'an index that cannot be read counts as none: %s',
		(index) => {
			expect(planSkills(index, [folder('a'), folder('b')])).toMatchObject({ ...first, problems: [] });
		},
	);

	test('when, modalities and requires stand in the index, as lists', () => {
		const more = 'metadata:\n  when: "one, two"\n  modalities: image\n  requires: b\n';
		const plan = planSkills(null, [{ name: 'a', files: { 'SKILL.md': markdown('a', { more }) } }]);
		expect(JSON.parse(plan.index ?? '').skills[0]).toMatchObject({
			when: ['one', 'two'],
			modalities: ['image'],
			requires: ['b'],
		});
	});
});

describe('publishSkills to a real KV', () => {
	const miniflare = new Miniflare({ modules: true, script: '', cf: false, kvNamespaces: ['SKILLS'] });
	let kv: SkillsKv & SkillStore & { list(): Promise<{ keys: { name: string }[] }> };
	let operations: string[];
	let directory: string;
	const recorded: SkillsKv = {
		get: (key) => kv.get(key),
		put: (key, value) => {
			operations.push(`put ${key}`);
			return kv.put(key, value);
		},
		delete: (key) => {
			operations.push(`delete ${key}`);
			return kv.delete(key);
		},
	};
	const write = async (path: string, content: string | Uint8Array) => {
		await mkdir(dirname(join(directory, path)), { recursive: true });
		await writeFile(join(directory, path), content);
	};
	const keys = async () => (await kv.list()).keys.map(({ name }) => name);

	beforeAll(async () => {
		kv = await miniflare.getKVNamespace('SKILLS');
	});
	afterAll(() => miniflare.dispose());
	beforeEach(async () => {
		operations = [];
		for (const key of await keys()) await kv.delete(key);
		directory = await mkdtemp(join(tmpdir(), 'runlet-skills-test-'));
		await write('a/SKILL.md', markdown('a'));
		await write('b/SKILL.md', markdown('b'));
		return () => rm(directory, { recursive: true });
	});

	test('what was published is what kvResolver reads', async () => {
		await publishSkills(recorded, { directory });
		const resolver = kvResolver(kv);
		const listed = await resolver.listFn({ messages: [], model: 'demo' });
		expect(listed).toMatchObject([{ name: 'a' }, { name: 'b' }]);
		expect(await resolver.readFn('b')).toMatchObject({ name: 'b', body: 'Body of b\n' });
	});

	test('a second run writes nothing, and one into an emptied KV writes everything', async () => {
		await publishSkills(recorded, { directory });
		operations = [];
		expect(await publishSkills(recorded, { directory })).toMatchObject({ published: [], unchanged: ['a', 'b'] });
		expect(operations).toEqual([]);
		for (const key of await keys()) await kv.delete(key);
		expect(await publishSkills(recorded, { directory })).toMatchObject({ published: ['a', 'b'] });
	});

	test('the index is written after the bodies, and old bodies are deleted after the index', async () => {
		await publishSkills(recorded, { directory });
		operations = [];
		await write('a/SKILL.md', markdown('a', { body: 'New' }));
		await rm(join(directory, 'b'), { recursive: true });
		expect(await publishSkills(recorded, { directory })).toMatchObject({ published: ['a'], removed: ['b'] });
		expect(operations.map((operation) => operation.replace(/[0-9a-f]{32}$/, 'HASH'))).toEqual([
			'put skill:body:HASH',
			'put skill:index',
			'delete skill:body:HASH',
			'delete skill:body:HASH',
		]);
		expect(await keys()).toHaveLength(2);
	});

	test('a failed write leaves the old index, so the next run completes it', async () => {
		const failing = { ...recorded, put: () => Promise.reject(new Error('no network')) };
		await expect(publishSkills(failing, { directory })).rejects.toThrow('no network');
		expect(await kv.get('skill:index')).toBeNull();
		expect(await publishSkills(recorded, { directory })).toMatchObject({ published: ['a', 'b'] });
	});

	test('another prefix keeps two sets apart', async () => {
		await publishSkills(recorded, { directory });
		await rm(join(directory, 'b'), { recursive: true });
		await publishSkills(recorded, { directory, prefix: 'other:' });
		expect(JSON.parse((await kv.get('skill:index')) ?? '').skills).toHaveLength(2);
		expect(JSON.parse((await kv.get('other:index')) ?? '').skills).toHaveLength(1);
	});

	test('text files are taken along with their path; binary files, hidden files and links are not', async () => {
		await write('a/references/deep/x.md', 'é');
		await write('a/assets/logo.png', Uint8Array.of(0x89, 0, 1));
		await write('a/assets/latin1.txt', Uint8Array.of(0xe9));
		await write('a/.DS_Store', 'hidden');
		await write('secret.txt', 'secret');
		await symlink(join(directory, 'secret.txt'), join(directory, 'a/link.txt'));
		await cp(join(directory, 'a'), join(directory, '.a'), { recursive: true, verbatimSymlinks: true });
		const folders = await readSkillFolders(directory);
		expect(folders.map(({ name }) => name)).toEqual(['a', 'b']);
		expect(folders[0]?.files).toEqual({ 'SKILL.md': markdown('a'), 'references/deep/x.md': 'é' });
	});

	test('a folder that is not there is an error and removes nothing', async () => {
		await publishSkills(recorded, { directory });
		await expect(publishSkills(recorded, { directory: join(directory, 'none') })).rejects.toThrow('ENOENT');
		expect(await keys()).toHaveLength(3);
	});
});
