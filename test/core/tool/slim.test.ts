import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../../src/core/tool/json-schema/compile.ts';
import type { JsonSchema } from '../../../src/core/tool/json-schema/keywords.ts';
import { slimSchema } from '../../../src/core/tool/json-schema/limits.ts';
import { findIssues } from '../../../src/core/tool/json-schema/validate.ts';

const words = fc.string({ maxLength: 400 });
const names = fc.constantFrom('a', 'b', 'c', 'title', 'description');
const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
	schema: fc.oneof(
		{ depthSize: 'medium', withCrossShrink: true },
		fc.record({ type: fc.constantFrom('string', 'integer', 'null'), description: words, examples: fc.array(words) }),
		fc.record({ enum: fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1 }), title: words }),
		fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), description: words }),
		fc.record({ not: tie('schema') }),
		fc.record(
			{ type: fc.constant('array'), items: tie('schema'), contains: tie('schema') },
			{ requiredKeys: ['type'] },
		),
		fc.record(
			{
				type: fc.constant('object'),
				properties: fc.dictionary(names, tie('schema'), { maxKeys: 4 }),
				required: fc.uniqueArray(names, { maxLength: 2 }),
				additionalProperties: fc.boolean(),
				description: words,
			},
			{ requiredKeys: ['type', 'properties'] },
		),
		fc.record({ $ref: fc.constant('#/$defs/a'), description: words }),
	),
}));
const root = fc
	.record({
		properties: fc.dictionary(names, schema, { maxKeys: 4 }),
		$defs: fc.record({ a: fc.record({ type: fc.constant('integer') }) }),
	})
	.map((rest): JsonSchema => ({ type: 'object', ...rest }));
const value = fc.dictionary(
	names,
	fc.letrec((tie) => ({
		any: fc.oneof(
			{ depthSize: 'small' },
			fc.integer({ min: 0, max: 30 }),
			fc.string({ maxLength: 3 }),
			fc.constant(null),
			fc.array(tie('any'), { maxLength: 3 }),
			fc.dictionary(names, tie('any'), { maxKeys: 3 }),
		),
	})).any,
);

describe('a schema that is cut for a model', () => {
	test('has at most the given number of characters, and accepts every value that the whole schema accepts', () => {
		fc.assert(
			fc.property(root, value, fc.integer({ min: 20, max: 1_500 }), (whole, input, most) => {
				const slim = slimSchema(whole, most);
				expect(JSON.stringify(slim).length).toBeLessThanOrEqual(most);
				if (findIssues(compileSchema(whole), input).length === 0)
					expect(findIssues(compileSchema(slim), input)).toEqual([]);
			}),
			{ numRuns: 2_000 },
		);
	});

	test('does not change if it is small', () => {
		const small: JsonSchema = { type: 'object', properties: { a: { type: 'string', examples: ['b'] } } };
		expect(slimSchema(small, 200)).toBe(small);
	});

	test('loses its examples first, then the ends of its descriptions, then its deep parts', () => {
		const whole = (length: number): JsonSchema => ({
			type: 'object',
			properties: {
				a: { type: 'string', description: 'word '.repeat(length), examples: ['b'.repeat(300)] },
				deep: { type: 'object', properties: { c: { type: 'object', properties: { d: { enum: ['e'] } } } } },
			},
		});
		expect(slimSchema(whole(10), 400)).toMatchObject({ properties: { a: { description: 'word '.repeat(10) } } });
		expect(JSON.stringify(slimSchema(whole(10), 400))).not.toContain('bbb');
		expect(slimSchema(whole(1_000), 600)).toMatchObject({
			properties: { a: { description: expect.stringMatching(/^(word )+.{0,5}…$/) }, deep: { properties: { c: {} } } },
		});
		expect(slimSchema(whole(10), 100)).toEqual({ type: 'object', properties: { a: {}, deep: {} } });
	});
});
