import { afterEach, describe, expect, test, vi } from 'vitest';
import { chat, providers, skill } from '../../../../src/core/index.ts';
import { entry, names, store } from './memory.ts';

const turn = { messages: [], model: 'm' };

afterEach(() => vi.useRealTimers());

describe('broken values in KV', () => {
	test.each([
		['a broken entry', { name: 'bad', hash: 7 }],
		['a text instead of an entry', 'text'],
		['null', null],
	])('%s is skipped and reported, and the other skills are served', async (_, broken) => {
		const { resolver, problems } = store([entry('tone'), broken, entry('audit')]);
		expect(names(await resolver.listFn(turn))).toEqual(['tone', 'audit']);
		expect(problems).toHaveLength(1);
	});

	test('a report names the skill in its message and in a field', async () => {
		const told: (readonly [string | undefined, string])[] = [];
		const { resolver } = store([entry('tone'), { name: 'bad', hash: 7 }, entry('tone')], {
			names: ['tone', 'lost', 'gone'],
			onProblem: (message, _, skill) => void told.push([skill, message]),
		});
		await resolver.listFn(turn);
		expect(told.map(([skill]) => skill)).toEqual(['bad', 'tone', 'lost', 'gone']);
		for (const [skill, message] of told) expect(message).toContain(skill);
	});

	test('a missing body is reported, and the skill is unknown', async () => {
		const { resolver, problems } = store([entry('gone')]);
		expect(await resolver.readFn('gone')).toBeUndefined();
		expect(problems).toEqual([expect.stringContaining('gone')]);
		const [read] = skill.builtinsWithResolver(resolver).filter(({ name }) => name === 'read_skill');
		expect(await read?.fn?.({ name: 'gone' })).toBe('Unknown skill: gone');
	});

	test('a malformed body counts as missing', async () => {
		const { resolver, problems, values } = store([entry('tone')]);
		values.set('skill:body:h-tone', { text: 'Be warm.' });
		expect(await resolver.readFn('tone')).toBeUndefined();
		expect(problems).toHaveLength(1);
	});

	test('a missing index counts as an empty set', async () => {
		const { resolver, values } = store([]);
		values.delete('skill:index');
		expect(await resolver.listFn(turn)).toEqual([]);
		expect(await resolver.readFn('tone')).toBeUndefined();
	});

	test.each([{ version: 2, skills: [] }, 'text', []])(
		'an index that has an unknown format is reported: %j',
		async (index) => {
			const { resolver, problems, values } = store([]);
			values.set('skill:index', index);
			expect(await resolver.listFn(turn)).toEqual([]);
			expect(problems).toHaveLength(1);
		},
	);

	test('an unreadable KV does not make a turn fail, and each failed read is reported', async () => {
		const problems: string[] = [];
		const down = { get: () => Promise.reject(new Error('KV GET failed: 500')) };
		const skillResolver = skill.kvResolver(down, { onProblem: (message) => problems.push(message) });
		const options = { model: 'scripted', providers: [providers.scripted(['hi'])], skillResolver };
		expect(await chat.run(options, [chat.userMessage('go')]).result).toMatchObject({ status: 'completed', text: 'hi' });
		expect(problems).toEqual([expect.stringContaining('KV GET failed: 500')]);
	});

	test('the next turn reads the index again after a failed read', async () => {
		const { kv, resolver } = store([entry('tone')]);
		const get = vi.spyOn(kv, 'get').mockRejectedValueOnce(new Error('down'));
		expect(await resolver.listFn(turn)).toEqual([]);
		expect(names(await resolver.listFn(turn))).toEqual(['tone']);
		expect(get).toHaveBeenCalledTimes(2);
	});

	test('the last good index is used while KV is unreadable', async () => {
		const { kv, resolver } = store([entry('tone')], { cacheMs: 0 });
		await resolver.listFn(turn);
		vi.spyOn(kv, 'get').mockRejectedValueOnce(new Error('down'));
		expect(names(await resolver.listFn(turn))).toEqual(['tone']);
	});
});

describe('the listed skills', () => {
	const two = [entry('tone'), entry('audit')];
	const size = skill.buildIndex([entry('tone'), entry('audit')]).length;

	test('are all skills of a small index', async () => {
		expect(names(await store(two, { listLimit: size }).resolver.listFn(turn))).toEqual(['tone', 'audit']);
	});

	test('are only the alwaysOn skills if the index exceeds listLimit, and other skills can still be read', async () => {
		const { resolver } = store(two, { listLimit: size - 60, alwaysOn: ['tone'] });
		expect(names(await resolver.listFn(turn))).toEqual(['tone']);
		expect(await resolver.moreFn?.(turn)).toBe(1);
		expect(await resolver.readFn('audit')).toMatchObject({ body: 'Count.' });
		expect(names(await resolver.searchFn?.('audit'))).toEqual(['audit']);
	});

	test('are as many alwaysOn skills as listLimit allows', async () => {
		const line = skill.indexLine(entry('tone')).length + 1;
		const { resolver } = store(two, { listLimit: line, alwaysOn: ['tone', 'audit', 'gone', 'tone'] });
		expect(names(await resolver.listFn(turn))).toEqual(['tone']);
		expect(await resolver.moreFn?.(turn)).toBe(1);
	});

	test('are none if the set is over listLimit and alwaysOn is empty', async () => {
		const { resolver } = store(two, { listLimit: 10 });
		expect(await resolver.listFn(turn)).toEqual([]);
		expect(await resolver.moreFn?.(turn)).toBe(2);
	});

	test('are followed in the system prompt by the number of unlisted skills and the name of the search tool', async () => {
		const { resolver } = store(two, { listLimit: 30, alwaysOn: ['tone'] });
		const provider = providers.scripted(['hi']);
		await chat.run({ model: 'scripted', providers: [provider], skillResolver: resolver }, [chat.userMessage('go')])
			.result;
		expect(provider.requests[0]?.system).toBe(
			[
				'Available skills you can read with read_skill(name):',
				'  - tone: About tone',
				'1 more skill is available: find one with search_skills(query), then read it with read_skill(name).',
			].join('\n'),
		);
	});

	test('are exactly the skills in the option `names`, even over listLimit', async () => {
		const { resolver } = store(two, { names: ['audit'], listLimit: 0 });
		expect(names(await resolver.listFn(turn))).toEqual(['audit']);
		expect(await resolver.readFn('tone')).toBeUndefined();
		expect(await resolver.searchFn?.('tone')).toEqual([]);
	});
});
