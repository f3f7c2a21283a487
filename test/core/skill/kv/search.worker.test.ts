import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { demoEmbedding } from '../../../../src/core/providers/demo.ts';
import { kvResolver } from '../../../../src/core/skill/kv/resolver.ts';
import { toBytes, toEmbeddedText, toSearchDocument } from '../../../../src/core/skill/kv/search.ts';

const skills = [
	{ name: 'tone', description: 'How we write to customers', hash: 'h1' },
	{ name: 'audit', description: 'Checking the books', hash: 'h2' },
];

test('finds skills in KV by full text and by vectors, in workerd', async () => {
	const rows = skills.flatMap((skill) => [...toBytes(demoEmbedding(toEmbeddedText(skill)))]);
	const values = btoa(rows.map((byte) => String.fromCharCode(byte & 255)).join(''));
	const names = skills.map(({ name }) => name);
	const more = { search: 's', vectors: { hash: 'v', model: 'demo' } };
	await env.SKILLS.put('found:index', JSON.stringify({ version: 1, ...more, skills }));
	await env.SKILLS.put('found:search:s', JSON.stringify(toSearchDocument(skills)));
	await env.SKILLS.put('found:vectors:v', JSON.stringify({ model: 'demo', names, texts: names, values }));

	const problems: string[] = [];
	const options = { prefix: 'found:', onProblem: (message: string) => problems.push(message) };
	const embedFn = async (_model: string, texts: readonly string[]) => texts.map(demoEmbedding);
	expect((await kvResolver(env.SKILLS, options).searchFn?.('customer'))?.map(({ name }) => name)).toEqual(['tone']);
	const byMeaning = await kvResolver(env.SKILLS, { ...options, embedFn }).searchFn?.('check a book');
	expect(byMeaning?.[0]).toMatchObject({ name: 'audit', score: expect.any(Number) });
	expect(problems).toEqual([]);
});
