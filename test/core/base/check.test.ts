import * as v from 'valibot';
import { expect, test } from 'vitest';
import { assertKnownFields, check } from '../../../src/core/base/check.ts';

const known = ['name', 'needsApproval', 'retry'];

test('names an unknown field and the most similar field', () => {
	expect(() => assertKnownFields({ name: 'pay', needApproval: true }, known, { owner: 'tool pay' })).toThrow(
		expect.objectContaining({
			code: 'invalid_request',
			message: 'needApproval: no such field (tool pay). Did you mean needsApproval?',
			data: { field: 'needApproval' },
		}),
	);
});

test('lists the possible fields if no name is similar and the fields are few', () => {
	expect(() => assertKnownFields({ colour: 1 }, known)).toThrow(
		'colour: no such field. Take it out, or use one of: name, needsApproval, retry.',
	);
	const many = Array.from({ length: 21 }, (_, index) => `field${index}`);
	expect(() => assertKnownFields({ colour: 1 }, many)).toThrow(/^colour: no such field\. Take it out\.$/);
});

test('does not suggest a field that the value already has', () => {
	expect(() => assertKnownFields({ needsApproval: true, needApproval: true }, known)).toThrow(/Take it out/);
});

test('names a nested unknown field by its path, with the most similar field', () => {
	const inner = v.strictObject({ toolMs: v.optional(v.number()), runMs: v.optional(v.number()) });
	const schema = v.strictObject({ timeouts: v.optional(inner), list: v.optional(v.array(inner)) });
	expect(() => check(schema, { timeouts: { toolMS: 3 } }, 'agent')).toThrow(
		/^timeouts\.toolMS: no such field\. Did you mean toolMs\?$/,
	);
	expect(() => check(schema, { list: [{}, { run: 3 }] }, 'agent')).toThrow(/^list\.1\.run: .* Did you mean runMs\?$/);
	expect(() => check(schema, { timeouts: { colour: 3 } }, 'agent')).toThrow(
		/^timeouts\.colour: no such field\. Possible: toolMs, runMs\.$/,
	);
});

test('says that a value is a list if an object is expected', () => {
	const schema = v.strictObject({ agent: v.string() });
	const piped = v.pipe(schema, v.readonly());
	expect(() => check(schema, [], 'body')).toThrow(/^body: expected an object, not a list$/);
	expect(() => check(piped, [{}], 'body')).toThrow(/^body: expected an object, not a list$/);
});

test.each<[schema: v.GenericSchema, value: unknown, says: string]>([
	[v.pipe(v.string(), v.nonEmpty()), '', 'must not be empty'],
	[v.picklist(['a', 'b']), 'c', 'expected a or b, got c'],
	[v.picklist(['a', 'b', 'c']), 4, 'expected a, b or c, got 4'],
	[v.literal('a'), 'b', 'expected a, got b'],
	[v.string(), 3, 'expected a string, got 3'],
	[v.number(), '3', 'expected a number, got 3'],
	[v.boolean(), null, 'expected true or false, got null'],
	[v.array(v.string()), {}, 'expected a list, got an object'],
	[v.record(v.string(), v.string()), 7, 'expected an object, got 7'],
	[v.union([v.string(), v.number()]), true, 'expected a string or a number, got true'],
	[v.pipe(v.number(), v.integer()), 1.5, 'expected an integer, got 1.5'],
	[v.pipe(v.number(), v.minValue(60)), 59, 'expected at least 60, got 59'],
	[v.pipe(v.string(), v.maxLength(2)), 'abc', 'expected a length of at most 2, got 3'],
	[v.pipe(v.string(), v.isoTimestamp()), 'now', 'expected a valid timestamp, got now'],
	[v.pipe(v.string(), v.minLength(9, 'Expected a long one')), 'a', 'Expected a long one'],
])('a mistake is reported in plain words', (schema, value, says) => {
	expect(() => check(v.strictObject({ field: schema }), { field: value }, 'body')).toThrow(`field: ${says}`);
});
