import { describe, expect, test } from 'vitest';
import { planSkills, type SkillsPlan } from '../../../../src/core/skill/kv/plan.ts';
import { readSkills, type SkillFolder } from '../../../../src/core/skill/kv/publish.ts';
import { keptMs } from '../../../../src/core/skill/kv/retired.ts';

const markdown = (name: string, { description = `About ${name}`, body = `Body of ${name}\n`, more = '' } = {}) =>
	`---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}`;

const folder = (name: string, files: Record<string, string> = {}, path = name): SkillFolder => ({
	name,
	path,
	files: { 'SKILL.md': markdown(name), ...files },
});

/** The content of KV after a plan was carried out on an empty KV. */
const storedBy = (plan?: SkillsPlan) => ({
	index: plan?.index?.[1] ?? null,
	retired: plan?.retired?.[1] ?? null,
	keys: [...(plan?.puts ?? []), ...(plan?.index ? [plan.index] : []), ...(plan?.retired ? [plan.retired] : [])].map(
		([key]) => key,
	),
});
const readPlan = async (before: SkillsPlan | undefined, folders: readonly SkillFolder[], now = 0) =>
	planSkills(storedBy(before), await readSkills(folders), { now });
const readIndex = (plan: SkillsPlan) => JSON.parse(plan.index?.[1] ?? '{}');
const readKeys = (plan: SkillsPlan, kind: 'body' | 'search') =>
	plan.puts.map(([key]) => key).filter((key) => key.startsWith(`skill:${kind}:`));
const readBodies = (plan: SkillsPlan) =>
	plan.puts.filter(([key]) => key.startsWith('skill:body:')).map(([, value]) => value);

describe('planSkills', async () => {
	const first = await readPlan(undefined, [folder('a'), folder('b')]);

	test('writes all bodies, the search document and the index into an empty KV', async () => {
		expect(first.published).toEqual(['a', 'b']);
		expect(first).toMatchObject({ deletes: [], problems: [] });
		expect(first.index?.[0]).toBe('skill:index');
		const { version, skills, search } = readIndex(first);
		expect(version).toBe(1);
		expect(skills.map(({ hash }: { hash: string }) => `skill:body:${hash}`)).toEqual(readKeys(first, 'body'));
		expect(readKeys(first, 'search')).toEqual([`skill:search:${search}`]);
		expect(skills[0]).toEqual({ name: 'a', description: 'About a', hash: expect.stringMatching(/^[0-9a-f]{32}$/) });
		expect(readBodies(first)[0]).toBe('{"body":"Body of a\\n"}');
	});

	test('writes the allowed tools of a skill into the index', async () => {
		const text = markdown('a', { more: 'allowed-tools: pay Bash(git:*)\n' });
		const plan = await readPlan(undefined, [folder('a', { 'SKILL.md': text })]);
		expect(readIndex(plan).skills[0]).toMatchObject({ 'allowed-tools': 'pay Bash(git:*)' });
	});

	test('writes nothing for an unchanged set', async () => {
		const again = await readPlan(first, [folder('a'), folder('b')]);
		expect(again).toMatchObject({ puts: [], deletes: [], published: [], unchanged: ['a', 'b'], removed: [] });
		expect(again.index).toBeUndefined();
		expect(again.retired).toBeUndefined();
	});

	test('writes the index and the search document for a new description, but no body', async () => {
		const changed = folder('a', { 'SKILL.md': markdown('a', { description: 'Other' }) });
		const plan = await readPlan(first, [changed, folder('b')]);
		expect(plan).toMatchObject({ published: ['a'], unchanged: ['b'] });
		expect(readBodies(plan)).toEqual([]);
		expect(readKeys(plan, 'search')).toHaveLength(1);
		expect(readIndex(plan).skills[0].description).toBe('Other');
	});

	test('writes a changed body under a new key, removes the skill of a missing folder, and retires old bodies', async () => {
		const plan = await readPlan(first, [folder('a', { 'SKILL.md': markdown('a', { body: 'New' }) })], 5);
		expect(readBodies(plan)).toEqual(['{"body":"New"}']);
		expect(plan).toMatchObject({ published: ['a'], removed: ['b'], deletes: [] });
		const retired = Object.fromEntries(
			[...readKeys(first, 'body'), ...readKeys(first, 'search')].map((key) => [key, 5]),
		);
		expect(JSON.parse(plan.retired?.[1] ?? '')).toEqual({ at: retired });
	});

	test('does not retire a body that another skill uses', async () => {
		const twin = (name: string) => folder(name, { 'SKILL.md': markdown(name, { body: 'Same' }) });
		const both = await readPlan(undefined, [twin('a'), twin('b')]);
		expect(readKeys(both, 'body')).toHaveLength(1);
		expect((await readPlan(both, [twin('b')])).retired?.[1]).not.toContain('skill:body:');
	});

	test('includes the files beside SKILL.md in the body and in its hash', async () => {
		const plan = await readPlan(first, [folder('a', { 'references/x.md': 'X' }), folder('b')]);
		expect(readBodies(plan).map((value) => JSON.parse(value).files)).toEqual([{ 'references/x.md': 'X' }]);
		expect(readIndex(plan).skills[0].files).toEqual(['references/x.md']);
	});

	test('reports an invalid skill with its line, keeps its old version, and publishes the other skills', async () => {
		const broken = folder('a', { 'SKILL.md': markdown('A b', { body: 'New' }) });
		const plan = await readPlan(first, [broken, folder('b'), folder('c')]);
		expect(plan.problems[0]).toMatchObject({ skill: 'a', file: 'a/SKILL.md', line: 2 });
		expect(plan).toMatchObject({ published: ['c'], unchanged: ['b'], removed: [], deletes: [] });
		expect(readIndex(plan).skills.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c']);
		expect(plan.retired?.[1]).not.toContain('skill:body:');
	});

	test('reports an unreadable front matter and a folder without SKILL.md as problems', async () => {
		const plan = await readPlan(undefined, [
			{ name: 'a', path: 'a', files: {} },
			{ name: 'b', path: 'b', files: { 'SKILL.md': '---\nname: [' } },
		]);
		expect(plan.problems.map(({ skill }) => skill)).toEqual(['a', 'b']);
		expect(plan.puts).toEqual([]);
	});

	test('publishes the first of two folders with one name, and reports the second as a problem', async () => {
		const plan = await readPlan(undefined, [folder('a', {}, 'one/a'), folder('a', { 'x.md': 'X' }, 'two/a')]);
		expect(plan).toMatchObject({ published: ['a'], problems: [{ skill: 'a', file: 'two/a/SKILL.md' }] });
		expect(plan.problems[0]?.message).toContain('one/a');
	});

	test.each(['{', '[]', '{"version":2,"skills":[]}', '{"version":1,"skills":[1]}'])(
		'treats an unreadable index as a missing index: %s',
		async (index) => {
			const skills = await readSkills([folder('a'), folder('b')]);
			const plan = await planSkills({ index, retired: '?', keys: ['skill:index'] }, skills);
			expect(plan).toMatchObject({ puts: first.puts, index: first.index, published: ['a', 'b'], deletes: [] });
		},
	);

	test('writes `when`, `modalities` and `requires` into the index as lists', async () => {
		const more = 'metadata:\n  when: "one, two"\n  modalities: image\n  requires: b\n';
		const plan = await readPlan(undefined, [folder('a', { 'SKILL.md': markdown('a', { more }) })]);
		expect(readIndex(plan).skills[0]).toMatchObject({ when: ['one', 'two'], modalities: ['image'], requires: ['b'] });
	});

	test('writes a body again if KV has lost it', async () => {
		const { keys, ...stored } = storedBy(first);
		const [lost] = readKeys(first, 'body');
		const left = keys.filter((key) => key !== lost);
		const skills = await readSkills([folder('a'), folder('b')]);
		const plan = await planSkills({ ...stored, keys: left }, skills, { now: 0 });
		expect(plan.puts.map(([key]) => key)).toEqual([lost]);
		expect(plan.index).toBeUndefined();
	});

	test('keeps a body for an hour after the index drops it, even if an interrupted publishing retired it earlier', async () => {
		const keys = first.puts.map(([key]) => key);
		const retired = JSON.stringify({ at: Object.fromEntries(keys.map((key) => [key, 0])) });
		const stored = { ...storedBy(first), retired };
		const plan = await planSkills(stored, await readSkills([folder('c')]), { now: 5 * keptMs });
		expect(plan.deletes).toEqual([]);
	});
});
