import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readSkillFolders } from '../../src/command/skills/folder.ts';
import { type PublishOptions, publishSkills } from '../../src/command/skills/publish.ts';
import { type ProviderRegistration, skill, tool } from '../../src/core/index.ts';
import { type SkillsKv, type SkillsNamespace, toSkillsKv } from '../../src/core/skill/kv/layout.ts';
import { type KvResolverOptions, kvResolver } from '../../src/core/skill/kv/resolver.ts';
import { keptMs } from '../../src/core/skill/kv/retired.ts';
import { type CorpusFile, corpus } from '../core/skill/corpus.ts';
import { markdown, memoryKv } from '../core/skill/kv/memory.ts';

const turn = { messages: [], model: 'demo' };

const readSkill = ({ text, directory }: CorpusFile) => skill.fromMarkdown(text, { directory });
const isFirstOfItsName = (file: CorpusFile, at: number, all: readonly CorpusFile[]) =>
	all.findIndex((one) => readSkill(one).name === readSkill(file).name) === at;

describe('publishSkills to a real KV', () => {
	const miniflare = new Miniflare({ modules: true, script: '', cf: false, kvNamespaces: ['SKILLS'] });
	let kv: SkillsNamespace;
	let operations: string[];
	let directory: string;
	/**
	 * How many writes succeed before the interruption of the process. The interruption may come within a bulk write.
	 */
	let alive: number;
	/** A reader's check after each write. */
	let afterWrite: () => Promise<void>;
	const write1 = async (operation: string, key: string, work: () => Promise<void>) => {
		if (alive-- <= 0) throw new Error('interrupted');
		operations.push(`${operation} ${key}`);
		await work();
		await afterWrite();
	};
	const recorded: SkillsKv = {
		get: (key) => kv.get(key),
		list: (prefix) => toSkillsKv(kv).list(prefix),
		put: async (entries) => {
			for (const [key, value] of entries) await write1('put', key, () => kv.put(key, value));
		},
		delete: async (keys) => {
			for (const key of keys) await write1('delete', key, () => kv.delete(key));
		},
	};
	const write = async (path: string, content: string | Uint8Array) => {
		await mkdir(dirname(join(directory, path)), { recursive: true });
		await writeFile(join(directory, path), content);
	};
	const keys = () => toSkillsKv(kv).list('');
	const publish = (options: Partial<PublishOptions> = {}) => publishSkills(recorded, { directory, ...options });
	/** The name and the text of each skill that a new reader finds. */
	const readAll = async (options: KvResolverOptions = {}) => {
		const problems: string[] = [];
		const resolver = kvResolver(kv, {
			cacheMs: 0,
			listLimit: 1e9,
			onProblem: (message) => problems.push(message),
			...options,
		});
		const texts: Record<string, string | undefined> = {};
		for (const { name } of await resolver.listFn(turn)) texts[name] = (await resolver.readFn(name))?.body;
		expect(problems).toEqual([]);
		return texts;
	};

	beforeAll(async () => {
		kv = await miniflare.getKVNamespace('SKILLS');
	});
	afterAll(() => miniflare.dispose());
	beforeEach(async () => {
		operations = [];
		alive = Number.POSITIVE_INFINITY;
		afterWrite = async () => {};
		for (const key of await keys()) await kv.delete(key);
		directory = await mkdtemp(join(tmpdir(), 'runlet-skills-test-'));
		await write('a/SKILL.md', markdown('a'));
		await write('b/SKILL.md', markdown('b'));
		return () => rm(directory, { recursive: true });
	});

	test('kvResolver reads the published skills', async () => {
		await publish();
		const resolver = kvResolver(kv);
		const listed = await resolver.listFn({ messages: [], model: 'demo' });
		expect(listed).toMatchObject([{ name: 'a' }, { name: 'b' }]);
		expect(await resolver.readFn('b')).toMatchObject({ name: 'b', body: 'Body of b\n' });
	});

	test('writes nothing in a second run, but writes everything again after the KV is emptied', async () => {
		await publish();
		operations = [];
		expect(await publish()).toMatchObject({ published: [], unchanged: ['a', 'b'] });
		expect(operations).toEqual([]);
		for (const key of await keys()) await kv.delete(key);
		expect(await publish()).toMatchObject({ published: ['a', 'b'] });
	});

	test('writes the index after all its values, and deletes old values an hour later', async () => {
		const start = Date.now();
		await publish({ now: start });
		operations = [];
		await write('a/SKILL.md', markdown('a', { body: 'New' }));
		await rm(join(directory, 'b'), { recursive: true });
		expect(await publish({ now: start })).toMatchObject({ published: ['a'], removed: ['b'] });
		const kinds = () => operations.map((operation) => operation.replace(/:?[0-9a-f]{32}$/, ''));
		expect(kinds()).toEqual(['put skill:body', 'put skill:search', 'put skill:retired', 'put skill:index']);
		operations = [];
		await publish({ now: start + keptMs - 1 });
		expect(operations).toEqual([]);
		await publish({ now: start + keptMs });
		expect(kinds()).toEqual(['delete skill:body', 'delete skill:body', 'delete skill:search']);
		expect((await keys()).filter((key) => key.startsWith('skill:body:'))).toHaveLength(1);
		await publish({ now: start + 2 * keptMs });
		expect(JSON.parse((await kv.get('skill:retired')) ?? '')).toEqual({ at: {} });
	});

	test('writes a retired value again if a skill needs the value again', async () => {
		const start = Date.now();
		await publish({ now: start });
		await write('a/SKILL.md', markdown('a', { body: 'New' }));
		await publish({ now: start });
		await write('a/SKILL.md', markdown('a'));
		operations = [];
		await publish({ now: start + 2 * keptMs });
		expect(operations[0]).toMatch(/^put skill:body:/);
		expect(await readAll()).toEqual({ a: 'Body of a\n', b: 'Body of b\n' });
	});

	test('after an interruption, readers see a complete set, and the next run finishes the publication', async () => {
		const before = { a: 'Body of a\n', b: 'Body of b\n' };
		const after = { a: 'New\n', c: 'Body of c\n' };
		let completed = false;
		let stop = 0;
		for (; !completed; stop++) {
			for (const key of await keys()) await kv.delete(key);
			const now = Date.now();
			await write('a/SKILL.md', markdown('a'));
			await write('b/SKILL.md', markdown('b'));
			await rm(join(directory, 'c'), { recursive: true, force: true });
			await publish({ now: now - 3 * keptMs });
			// A third publication, because only later publications also delete values.
			await write('a/SKILL.md', markdown('a', { body: 'Older\n' }));
			await publish({ now: now - 2 * keptMs });
			await write('a/SKILL.md', markdown('a'));
			await publish({ now: now - keptMs + 1 });
			await write('x/SKILL.md', markdown('x'));
			await publish({ now: now - keptMs + 1 });
			await rm(join(directory, 'x'), { recursive: true });
			await publish({ now: now - keptMs });
			expect(await readAll()).toEqual(before);

			// A resolver that started before the publication, and continues during it.
			const old = kvResolver(kv, { cacheMs: 0 });
			await old.listFn(turn);
			await write('a/SKILL.md', markdown('a', { body: 'New\n' }));
			await write('c/SKILL.md', markdown('c'));
			await rm(join(directory, 'b'), { recursive: true });
			operations = [];
			alive = stop;
			const isWhole = async () => {
				const seen = await readAll();
				expect([before, after]).toContainEqual(seen);
				expect((await old.readFn('a'))?.body).toBe(before.a);
				expect((await old.readFn('b'))?.body).toBe(before.b);
				expect(await old.readFn('c')).toBeUndefined();
			};
			afterWrite = isWhole;
			const result = await publish({ now }).catch((error: unknown) => error);
			await isWhole();
			completed = !(result instanceof Error);
			expect(result).toMatchObject(completed ? { published: ['a', 'c'], removed: ['b'] } : { message: 'interrupted' });
			if (completed) expect(operations.some((operation) => operation.startsWith('delete'))).toBe(true);

			alive = Number.POSITIVE_INFINITY;
			await publish({ now });
			expect(await readAll()).toEqual(after);
			afterWrite = async () => {};
			operations = [];
			await publish({ now });
			expect(operations).toEqual([]);
		}
		expect(stop).toBeGreaterThan(6);
	});

	test('later removes the body that an unfinished publication wrote', async () => {
		const start = Date.now();
		await write('a/SKILL.md', markdown('a', { body: 'Given up' }));
		alive = 2;
		await expect(publish({ now: start })).rejects.toThrow('interrupted');
		expect(await kv.get('skill:index')).toBeNull();
		alive = Number.POSITIVE_INFINITY;
		await write('a/SKILL.md', markdown('a'));
		await publish({ now: start });
		expect((await keys()).filter((key) => key.startsWith('skill:body:'))).toHaveLength(3);
		await publish({ now: start + keptMs });
		expect((await keys()).filter((key) => key.startsWith('skill:body:'))).toHaveLength(2);
	});

	test('publishes 2,000 skills with progress reports, and finds a skill among them', async () => {
		const memory = memoryKv();
		for (let at = 0; at < 2_000; at++)
			await write(`many-${at}/SKILL.md`, markdown(`many-${at}`, { body: `Text ${at}` }));
		const progress: string[] = [];
		const onProgress = (what: string, done: number, total: number) => progress.push(`${done}/${total} ${what}`);
		const { published } = await publishSkills(toSkillsKv(memory), { directory, onProgress });
		expect(published).toHaveLength(2_002);
		expect(progress.at(-1)).toBe('2003/2003 written');
		expect(progress.length).toBeGreaterThan(2);
		const resolver = kvResolver(memory);
		expect(await resolver.listFn(turn)).toEqual([]);
		expect(await resolver.moreFn?.(turn)).toBe(2_002);
		expect((await resolver.searchFn?.('many 1234'))?.[0]).toMatchObject({ name: 'many-1234' });
		expect(await resolver.readFn('many-1234')).toMatchObject({ body: 'Text 1234' });
		await rm(join(directory, 'many-7'), { recursive: true });
		memory.written.length = 0;
		expect(await publishSkills(toSkillsKv(memory), { directory })).toMatchObject({
			published: [],
			removed: ['many-7'],
		});
		expect(memory.written.map((key) => key.split(':')[1])).toEqual(['search', 'retired', 'index']);
	});

	test('publishes the valid ones of 268 real skills, and a model reads them unchanged', async () => {
		const memory = memoryKv();
		const folder = join(import.meta.dirname, '../fixtures/skills-corpus');
		const { published, problems } = await publishSkills(toSkillsKv(memory), { directory: folder });
		const bad = new Set(problems.map(({ file }) => file));
		const [valid, others] = [corpus.filter(({ path }) => !bad.has(path)), corpus.filter(({ path }) => bad.has(path))];
		expect(published.toSorted()).toEqual(valid.map(({ directory }) => directory).toSorted());
		const resolvers = [kvResolver(memory, { listLimit: 1e9 }), skill.inMemoryResolver(others.map(readSkill))];
		for (const [at, files] of [valid, others].entries()) {
			const resolver = resolvers[at] ?? skill.inMemoryResolver([]);
			const tools = skill.builtinsWithResolver(resolver);
			for (const file of at === 0 ? files : files.filter(isFirstOfItsName)) {
				const { name, body = '' } = readSkill(file);
				const { output, isError } = await tool.dispatch(tools, { id: 'r', name: 'read_skill', input: { name } });
				expect(isError, file.path).toBe(false);
				expect(String(output).startsWith(body), file.path).toBe(true);
			}
		}
	});

	test('finds a skill by meaning with vectors, and embeds only changed skills', async () => {
		const embedded: string[][] = [];
		const near: Record<string, number[]> = { a: [1, 0, 0], b: [0, 1, 0.1], c: [0, 0.1, 1] };
		const embedder: ProviderRegistration = {
			variant: 'three',
			displayName: 'Three',
			detect: (model) => model === 'three',
			embedFn: async (_model, texts) => {
				embedded.push([...texts]);
				return texts.map((text) => near[text[0] ?? ''] ?? [0, 0, 0]);
			},
		};
		const embed = { model: 'three', providers: [embedder] };
		await publish({ embed });
		await write('c/SKILL.md', markdown('c'));
		await publish({ embed });
		expect(embedded).toEqual([['a\nAbout a', 'b\nAbout b'], ['c\nAbout c']]);
		const asked: unknown[] = [];
		const resolver = kvResolver(kv, {
			cacheMs: 0,
			embedFn: async (model, texts) => {
				asked.push([model, texts]);
				return [[0, 0.2, 1]];
			},
		});
		const found = await resolver.searchFn?.('nothing of these words');
		expect(found?.map(({ name }) => name)).toEqual(['c', 'b']);
		expect(found?.[0]?.score).toBeCloseTo(0.99, 1);
		expect(asked).toEqual([['three', ['nothing of these words']]]);
		operations = [];
		await publish({ embed });
		expect(operations).toEqual([]);
	});

	test('separates two sets of skills by their prefixes', async () => {
		await publish();
		await rm(join(directory, 'b'), { recursive: true });
		await publish({ prefix: 'other:' });
		expect(JSON.parse((await kv.get('skill:index')) ?? '').skills).toHaveLength(2);
		expect(JSON.parse((await kv.get('other:index')) ?? '').skills).toHaveLength(1);
	});

	test('publishes text files with their paths, but no binary files, hidden files or links', async () => {
		await write('a/references/deep/x.md', 'é');
		await write('a/assets/logo.png', Uint8Array.of(0x89, 0, 1));
		await write('a/assets/latin1.txt', Uint8Array.of(0xe9));
		await write('a/.DS_Store', 'hidden');
		await write('secret.txt', 'secret');
		await symlink(join(directory, 'secret.txt'), join(directory, 'a/link.txt'));
		await cp(join(directory, 'a'), join(directory, '.a'), { recursive: true, verbatimSymlinks: true });
		const folders = await readSkillFolders(directory);
		expect(folders.map(({ path }) => path)).toEqual(['a', 'b']);
		expect(folders[0]?.files).toEqual({ 'SKILL.md': markdown('a'), 'references/deep/x.md': 'é' });
	});

	test('a missing folder is an error, and removes nothing', async () => {
		await publish();
		await expect(publish({ directory: join(directory, 'none') })).rejects.toThrow('ENOENT');
		expect(await keys()).toHaveLength(4);
	});
});
