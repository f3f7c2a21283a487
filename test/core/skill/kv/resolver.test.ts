import { afterEach, describe, expect, test, vi } from 'vitest';
import { skill } from '../../../../src/core/index.ts';
import { toSearchDocument } from '../../../../src/core/skill/kv/search.ts';
import { entry, names, store } from './memory.ts';

const turn = { messages: [], model: 'm' };

afterEach(() => vi.useRealTimers());

describe('kvResolver', () => {
	test('lists the skills of the index', async () => {
		const { resolver } = store([entry('tone', { when: ['reply'], modalities: ['text'] }), entry('audit')]);
		expect(await resolver.listFn(turn)).toMatchObject([
			{ name: 'tone', description: 'About tone', when: ['reply'], modalities: ['text'] },
			{ name: 'audit' },
		]);
	});

	test('reads a body by its hash', async () => {
		const { resolver } = store([entry('tone', { requires: ['audit'] })]);
		expect(await resolver.readFn('tone')).toMatchObject({ name: 'tone', body: 'Be warm.', requires: ['audit'] });
	});

	test('reads the files beside a body, and the allowed tools', async () => {
		const { resolver, values } = store([entry('tone', { 'allowed-tools': 'pay Read' })]);
		values.set('skill:body:h-tone', { body: 'Be warm.', files: { 'references/a.md': 'A' } });
		expect(await resolver.readFn('tone')).toMatchObject({
			body: 'Be warm.',
			files: { 'references/a.md': 'A' },
			frontMatter: { 'allowed-tools': 'pay Read' },
		});
		expect(resolver.hasFiles).toBe(true);
	});

	test('finds a skill in the index, without reading its body', async () => {
		const { resolver, reads } = store([entry('tone', { requires: ['audit'], 'allowed-tools': 'pay' })]);
		const frontMatter = { 'allowed-tools': 'pay' };
		expect(await resolver.findFn?.('tone')).toMatchObject({ name: 'tone', requires: ['audit'], frontMatter });
		expect(await resolver.findFn?.('nope')).toBeUndefined();
		expect(reads).toEqual(['skill:index']);
	});

	test('reads the index once for all resolvers of the namespace', async () => {
		const { resolver, reads, kv } = store([entry('tone')]);
		await resolver.listFn(turn);
		await resolver.listFn(turn);
		await resolver.searchFn?.('tone');
		await skill.kvResolver(kv).listFn(turn);
		expect(reads).toEqual(['skill:index']);
	});

	test('reads the index again in the first run after cacheMs', async () => {
		vi.useFakeTimers();
		const { kv, reads, values } = store([entry('tone')]);
		const nextRun = async () => names(await skill.kvResolver(kv, { cacheMs: 1_000 }).listFn(turn));
		await nextRun();
		values.set('skill:index', { version: 1, skills: [entry('audit')] });
		vi.advanceTimersByTime(999);
		expect(await nextRun()).toEqual(['tone']);
		vi.advanceTimersByTime(1);
		expect(await nextRun()).toEqual(['audit']);
		expect(reads).toHaveLength(2);
	});

	test('uses one index for the whole run, even if the index in KV changes', async () => {
		const { kv, resolver, values } = store([entry('tone')], { cacheMs: 0 });
		await resolver.listFn(turn);
		values.set('skill:index', { version: 1, skills: [entry('audit'), entry('tone', { hash: 'h-audit' })] });
		expect(names(await skill.kvResolver(kv, { cacheMs: 0 }).listFn(turn))).toEqual(['audit', 'tone']);
		expect(names(await resolver.listFn(turn))).toEqual(['tone']);
		expect(await resolver.readFn('audit')).toBeUndefined();
		expect(await resolver.findFn?.('audit')).toBeUndefined();
		expect(await resolver.readFn('tone')).toMatchObject({ body: 'Be warm.' });
		expect(await resolver.searchFn?.('audit')).toEqual([]);
	});

	test('uses the newest index for a skill whose older body was deleted', async () => {
		const { resolver, values } = store([entry('tone')], { cacheMs: 0 });
		await resolver.listFn(turn);
		values.delete('skill:body:h-tone');
		values.set('skill:index', { version: 1, skills: [entry('tone', { hash: 'h-audit' })] });
		expect(await resolver.readFn('tone')).toMatchObject({ body: 'Count.' });
	});

	test('begins every key with the prefix', async () => {
		const { resolver, reads } = store([entry('tone')], { prefix: 'mine/' });
		expect(await resolver.readFn('tone')).toMatchObject({ body: 'Be warm.' });
		expect(reads).toEqual(['mine/index', 'mine/body:h-tone']);
	});

	test('returns undefined for an unknown skill without reading a body', async () => {
		const { resolver, reads } = store([entry('tone')]);
		expect(await resolver.readFn('constructor')).toBeUndefined();
		expect(reads).toEqual(['skill:index']);
	});

	test('searches the index', async () => {
		const { resolver } = store([entry('tone'), entry('audit')]);
		expect(names(await resolver.searchFn?.('AUDIT', {}))).toEqual(['audit']);
	});
});

describe('searchFn', () => {
	const tone = entry('tone', { description: 'How we write to customers' });
	const audit = entry('audit', { description: 'Checking the books' });
	const searchable = (options: skill.KvResolverOptions = {}, description = 'Checking the books') => {
		const made = store([], options);
		const document = toSearchDocument([tone, { ...audit, description }]);
		made.values.set('skill:search:s1', { ...document, descriptions: { audit: description } });
		const vectors = { model: 'two', names: ['tone', 'audit'], texts: ['1', '2'], values: btoa('\x7f\x00\x00\x7f') };
		made.values.set('skill:vectors:v1', vectors);
		const more = { search: 's1', vectors: { hash: 'v1', model: 'two' } };
		made.values.set('skill:index', { version: 1, ...more, skills: [tone, { ...audit, description: 'Checking…' }] });
		return made;
	};

	test('searches the full text with word forms, and returns scores and whole descriptions', async () => {
		const { resolver } = searchable();
		expect(await resolver.searchFn?.('who checked our book?')).toMatchObject([
			{ name: 'audit', description: 'Checking the books', score: expect.any(Number) },
		]);
	});

	test('reads the search documents once for each isolate, at the first search', async () => {
		const { kv, resolver, reads } = searchable();
		await resolver.listFn(turn);
		expect(reads).toEqual(['skill:index']);
		await resolver.searchFn?.('books');
		await skill.kvResolver(kv).searchFn?.('customers');
		expect(reads).toEqual(['skill:index', 'skill:search:s1']);
	});

	test('returns at most `limit` results, and no result below minScore', async () => {
		const { resolver } = searchable();
		expect(names(await resolver.searchFn?.('books customers', { limit: 1 }))).toHaveLength(1);
		expect(await resolver.searchFn?.('books customers', { minScore: 1_000 })).toEqual([]);
		expect(await resolver.searchFn?.(' ')).toEqual([]);
	});

	test('searches by meaning with the model of the stored vectors if there is an embedFn', async () => {
		const embedFn = vi.fn(async () => [[0.1, 5]]);
		const { resolver } = searchable({ embedFn });
		const found = await resolver.searchFn?.('customers');
		expect(found?.map(({ name, score }) => [name, score?.toFixed(2)])).toEqual([
			['audit', '1.00'],
			['tone', '0.02'],
		]);
		expect(embedFn).toHaveBeenCalledWith('two', ['customers']);
	});

	test.each([
		['fails', () => Promise.reject(new Error('no key'))],
		['returns a vector of another length', async () => [[1, 2, 3]]],
		['returns no vector', async () => []],
	])('searches the full text if the embedFn %s, and reports that', async (_, embedFn) => {
		const { resolver, problems } = searchable({ embedFn });
		expect(names(await resolver.searchFn?.('customer'))).toEqual(['tone']);
		expect(problems).toHaveLength(1);
	});

	test.each([
		['missing', null],
		['broken', { version: 2, words: [] }],
		['of another version', { version: 3 }],
		['no document', 'text'],
	])('searches for substrings if the full text index is %s, and reports that', async (_, document) => {
		const { resolver, problems, values } = searchable();
		values.set('skill:search:s1', document);
		expect(await resolver.searchFn?.('write to')).toMatchObject([{ name: 'tone', score: 2 }]);
		expect(problems).toEqual([expect.stringContaining('skill:search:s1')]);
	});

	test('passes its scores to search_skills', async () => {
		const { resolver } = searchable();
		const search = skill.builtinSearchSkillsR(resolver);
		expect(await search.fn?.({ query: 'books' })).toEqual([
			{ name: 'audit', description: 'Checking the books', when: [], score: expect.any(Number) },
		]);
	});
});
