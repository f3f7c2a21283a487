import { describe, expect, test } from 'vitest';
import { request } from '../../client.ts';
import { play } from '../../script.ts';

async function sent(path: string, given: unknown) {
	const response = await request(path, given);
	return { status: response.status, body: await response.json<Record<string, unknown>>() };
}

/** Sends a request with a tool of the schema. The model calls it with the input. */
async function ask(parameters: unknown, input: unknown = {}, more: readonly unknown[] = []) {
	play({ toolCalls: [{ id: 'c1', name: 'mine', input }] }, { text: 'Over.' });
	const tool = (name: string, schema: unknown) => ({ type: 'function', function: { name, parameters: schema } });
	const tools = [tool('mine', parameters), ...more.map((schema, index) => tool(`more${index}`, schema))];
	const messages = [{ role: 'user', content: 'Go.' }];
	return sent('/v1/chat/completions', { model: 'scripted', messages, tools });
}

const of = (property: unknown) => ({ type: 'object', properties: { a: property } });
const many = (count: number, make: (index: number) => unknown) =>
	Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index}`, make(index)]));

describe('a schema of a client', () => {
	test('with a pattern of exponential backtracking is checked without a delay', async () => {
		for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(\\w+\\s?)*$', '(x+x+)+y']) {
			const begun = performance.now();
			const { status, body } = await ask(of({ type: 'string', pattern }), { a: `${'a'.repeat(34)}!` });
			expect(status).toBe(200);
			expect(body).toMatchObject({ choices: [{ finish_reason: expect.any(String) }] });
			// Backtracking would take minutes, so the limit may be generous.
			expect(performance.now() - begun).toBeLessThan(10_000);
		}
	});

	test.each<[string, unknown]>([
		['an invalid pattern', of({ pattern: '(' })],
		['a back reference', of({ pattern: '(a+)\\1' })],
		['a pattern that is repeated too often', of({ pattern: '(a{1000}){1000}' })],
		['an invalid name pattern', { type: 'object', patternProperties: { '(': {} } }],
		[
			'very long patterns',
			of({ anyOf: Array.from({ length: 10 }, (_, index) => ({ pattern: `${index}`.repeat(1_000) })) }),
		],
		['a $ref to elsewhere', of({ $ref: 'https://example.com/schema.json' })],
		['a $ref to nowhere', of({ $ref: '#/$defs/gone' })],
		['a $ref in a circle', { ...of({ $ref: '#/$defs/x' }), $defs: { x: { $ref: '#/$defs/x' } } }],
		[
			'references that multiply',
			{
				...of({ $ref: '#/$defs/d0' }),
				$defs: many(40, (index) => ({
					allOf: [{ $ref: `#/$defs/d${(index + 1) % 41}` }, { $ref: `#/$defs/d${(index + 1) % 41}` }],
				})),
			},
		],
		[
			'a chain of references',
			{
				...of({ $ref: '#/$defs/d0' }),
				$defs: { ...many(300, (index) => ({ $ref: `#/$defs/d${index + 1}` })), d300: {} },
			},
		],
		['very many schemas', { type: 'object', properties: many(3_000, () => ({})) }],
		['very long texts', of({ description: 'x'.repeat(200_000) })],
		['a very long enum', of({ enum: Array.from({ length: 50_000 }, (_, index) => index) })],
		['an unknown type', of({ type: 'text' })],
		['a list instead of an object', of({ properties: [] })],
	])('with %s is refused with the name of the field', async (_, parameters) => {
		const { status, body } = await ask(parameters);
		expect(status).toBe(400);
		expect(body).toMatchObject({
			error: {
				param: 'tools[0].function.parameters',
				message: expect.stringMatching(/^tools\[0\]\.function\.parameters: /),
			},
		});
	});

	test('is refused if all schemas of the request together are too large', async () => {
		const large = of({ description: 'x'.repeat(90_000) });
		expect((await ask(large)).status).toBe(200);
		const { status, body } = await ask(large, {}, Array(15).fill(large));
		expect(status).toBe(400);
		expect(body).toMatchObject({ error: { param: expect.stringMatching(/^tools\[\d+\]\.function\.parameters$/) } });
	});

	test.each<[string, unknown]>([
		['nested to the last level that is read', JSON.parse(`${'{"not":'.repeat(85)}{}${'}'.repeat(85)}`)],
		[
			'with __proto__',
			JSON.parse(
				'{"type":"object","properties":{"__proto__":{"pattern":"a"},"constructor":{}},"required":["__proto__"]}',
			),
		],
		[
			'with Zod’s pattern of an e-mail address',
			of({
				type: 'string',
				format: 'email',
				pattern:
					"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
			}),
		],
		[
			'of draft-07',
			{
				type: 'object',
				properties: { a: { items: [{ $ref: '#/definitions/x' }] } },
				definitions: { x: { type: 'string' } },
			},
		],
		['that is recursive', { type: 'object', properties: { a: { type: 'array', items: { $ref: '#' } } } }],
	])('%s is accepted', async (_, parameters) => {
		const { status, body } = await ask(
			typeof parameters === 'object' && parameters !== null && 'not' in parameters ? of(parameters) : parameters,
		);
		expect([status, JSON.stringify(body)]).toEqual([200, expect.any(String)]);
	});

	test('that is nested deeper than the limit of a body is refused', async () => {
		const { status } = await ask(JSON.parse(`${'{"not":'.repeat(5_000)}{}${'}'.repeat(5_000)}`));
		expect(status).toBe(400);
	});
});

describe('deeply nested tool input from a model', () => {
	test.each([5_000, 100_000])('with %i levels becomes an error result, and the run continues', async (levels) => {
		const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
		const provider = play({ toolCalls: [{ id: 'c1', name: 'echo', input: JSON.parse(deep) }] }, { text: 'Over.' });
		const { body: session } = await sent('/v1/sessions', { agent: 'scripted' });
		const { status, body } = await sent(`/v1/sessions/${session.id}/messages`, { text: 'Go.' });
		expect([status, body]).toMatchObject([200, { status: 'completed', text: 'Over.' }]);
		expect(JSON.stringify(provider.requests.at(-1))).toContain('100 levels');
	});
});

describe('a file in a page’s message', () => {
	const post = (file: object) => {
		const parts = [
			{ type: 'text', text: 'See.' },
			{ type: 'file', mediaType: 'text/plain', url: 'data:text/plain,hi', ...file },
		];
		const messages = [{ role: 'user', parts }];
		return request('/v1/ui/scripted', { id: crypto.randomUUID(), messages });
	};

	test.each<[string, object, string]>([
		['media type', { mediaType: `${'a'.repeat(1_000_000)}!` }, 'type'],
		['name', { filename: 'a'.repeat(1_000_000) }, 'name'],
		['URL', { url: `https://example.com/${'a'.repeat(1_000_000)}` }, 'contentUrl'],
	])('whose %s is 1 MB long is refused with the name of the field', async (_, file, field) => {
		const response = await post(file);
		expect(response.status).toBe(400);
		expect(await response.text()).toMatch(new RegExp(`^0\\.${field}: `));
	});
});
