import { describe, expect, test } from 'vitest';
import { toolbox, workspace } from '../../../src/core/index.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.basic();
const orders = {
	orders: [
		{ id: 1, total: 5, to: 'Ann' },
		{ id: 2, total: 50, to: 'Bob' },
		{ id: 3, total: 70, to: 'Annabel' },
	],
};

describe('query_json', () => {
	const { call, fail } = callOn(box, {
		'data/orders.json': JSON.stringify(orders),
		'bad.json': '{',
		'big.json': `"${'x'.repeat(9_000_000)}"`,
	});

	test.each([
		['$.orders[*].id', [1, 2, 3]],
		['$.orders[?@.total > 10].id', [2, 3]],
		["$.orders[?match(@.to, 'Ann')].id", [1]],
		["$.orders[?search(@.to, 'nn')].id", [1, 3]],
		['$..total', [5, 50, 70]],
		['$.orders[-1].to', ['Annabel']],
		['$.gone', []],
	])('%s finds the same matches in a file, in a JSON value and in a JSON text', async (query, result) => {
		expect(await call('query_json', { path: 'data/orders.json', query })).toEqual({ result });
		expect(await call('query_json', { json: orders, query })).toEqual({ result });
		expect(await call('query_json', { json: JSON.stringify(orders), query })).toEqual({ result });
	});

	test('works without a workspace', async () => {
		expect(await toolbox.perform('query_json', { json: [1], query: '$[0]' }, toolbox.basic({}))).toEqual({
			ok: true,
			value: { result: [1] },
		});
	});

	test('has a strict schema, in which the argument `json` is a text', () => {
		expect(toolbox.spec('query_json', box)?.function).toMatchObject({
			strict: true,
			parameters: { properties: { json: { type: ['string', 'null'] } }, additionalProperties: false },
		});
	});

	test('explains each wrong call, and accepts the corrected call', async () => {
		const files = workspace.inMemory({ 'a.json': '{"a":1}', 'bad.json': '{' });
		const given = await correct(
			box,
			files,
			'query_json',
			{ query: '$.a' },
			{ path: 'a.json', json: '{}', query: '$.a' },
			{ path: 'b.json', query: '$.a' },
			{ path: 'bad.json', query: '$.a' },
			{ path: 'a.json', query: 'a[' },
			{ path: 'a.json', query: '$.a' },
		);
		expect(given.map(({ output, isError }) => isError && output)).toEqual([
			expect.stringContaining('give path or json'),
			expect.stringContaining('give path or json'),
			expect.stringContaining('Did you mean a.json?'),
			expect.stringMatching(/^path: not valid JSON/),
			expect.stringMatching(/^query: .*Write JSONPath/),
			false,
		]);
	});

	test('refuses a file that is too large', async () => {
		expect(await fail('query_json', { path: 'big.json', query: '$' })).toMatch(/search_files/);
	});

	test('cuts a long list of matches, and marks it as truncated', async () => {
		const many = { json: Array.from({ length: 5_000 }, (_, n) => n), query: '$[*]' };
		expect(Object(await call('query_json', many)).result).toHaveLength(1_000);
		expect(await call('query_json', many)).toMatchObject({ truncated: true });
		expect(
			await call('query_json', { json: Array.from({ length: 300 }, () => 'x'.repeat(1_000)), query: '$[*]' }),
		).toMatchObject({ truncated: true });
	});

	test('ends a query that takes too long', async () => {
		const json = { a: Array.from({ length: 3_000 }, (_, n) => ({ n })) };
		expect(await callOn(box).fail('query_json', { json, query: '$..[?$..[?$..[?@.x]]]' })).toMatch(/takes too long/);
		expect(
			await callOn(box).call('query_json', { json: [`${'a'.repeat(5_000)}!`], query: "$[?match(@, '(a+)+')]" }),
		).toEqual({ result: [] });
	});

	test('does not change the JSON of the call', async () => {
		const json = { a: { b: [{ c: null }] } };
		expect(await call('query_json', { json, query: '$.a' })).toEqual({ result: [{ b: [{ c: null }] }] });
		expect(json).toEqual({ a: { b: [{ c: null }] } });
	});
});
