import { expect, test } from 'vitest';
import { type Skill, skill } from '../../../src/core/index.ts';
import { restrictResolver } from '../../../src/core/skill/resolver.ts';

const skills: Skill[] = ['tone', 'refunds', 'audit'].map((name) => ({
	name,
	description: `About ${name}`,
	body: `The text of ${name}.`,
}));
const turn = { messages: [], model: 'm' };

test('a restricted resolver lists, finds and reads only the named skills', async () => {
	const resolver = restrictResolver(skill.searchableResolver(skills, { alwaysOn: ['audit'] }), ['tone', 'refunds']);
	expect((await resolver.listFn(turn)).map(({ name }) => name)).toEqual(['tone', 'refunds']);
	expect((await resolver.searchFn?.('about'))?.map(({ name }) => name).sort()).toEqual(['refunds', 'tone']);
	expect(await resolver.readFn('tone')).toMatchObject({ body: 'The text of tone.' });
	expect(await resolver.readFn('audit')).toBeUndefined();
	expect(await resolver.findFn?.('audit')).toBeUndefined();
});

test('a restricted resolver searches only if its inner resolver can search, and ignores unknown names', async () => {
	const resolver = restrictResolver(skill.inMemoryResolver(skills), ['tone', 'nothing']);
	expect(resolver.searchFn).toBeUndefined();
	expect((await resolver.listFn(turn)).map(({ name }) => name)).toEqual(['tone']);
});
