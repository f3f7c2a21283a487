import { expect, test } from 'vitest';
import { skill } from '../../../src/core/index.ts';
import { joinResolvers } from '../../../src/core/skill/resolver.ts';

const context = { messages: [], model: 'demo' };
const own = skill.inMemoryResolver([{ name: 'tone', description: 'Ours.', body: 'Be warm.' }]);
const published = skill.searchableResolver(
	[
		{ name: 'tone', description: 'Theirs.', body: 'Be cold.' },
		{ name: 'law', description: 'When to call legal.', body: 'Call.' },
	],
	{ alwaysOn: ['tone', 'law'] },
);

test('if two skills have one name, that of the earlier resolver is listed and read', async () => {
	const joined = joinResolvers([own, published]);
	expect((await joined.listFn(context)).map(({ name, description }) => [name, description])).toEqual([
		['tone', 'Ours.'],
		['law', 'When to call legal.'],
	]);
	expect((await joined.readFn('tone'))?.body).toBe('Be warm.');
	expect((await joined.readFn('law'))?.body).toBe('Call.');
	expect(await joined.readFn('none')).toBeUndefined();
});

test('it can search where one of them can', async () => {
	expect((await joinResolvers([own, published]).searchFn?.('legal'))?.map(({ name }) => name)).toEqual(['law']);
	expect(joinResolvers([own]).searchFn).toBeUndefined();
});

test('it counts what its resolvers do not list', async () => {
	const counting = (more: number) => ({ ...published, moreFn: () => more });
	expect(await joinResolvers([own, counting(2), counting(3)]).moreFn?.(context)).toBe(5);
	expect(joinResolvers([own, published]).moreFn).toBeUndefined();
});

test('it finds without reading where one of them can, and has files where one of them has', async () => {
	const found = { ...published, findFn: () => ({ name: 'law', description: 'Found.' }), hasFiles: true };
	expect((await joinResolvers([own, found]).findFn?.('law'))?.description).toBe('Found.');
	expect((await joinResolvers([own, found]).findFn?.('tone'))?.description).toBe('Ours.');
	expect([joinResolvers([own]).hasFiles, joinResolvers([own, found]).hasFiles]).toEqual([false, true]);
});
