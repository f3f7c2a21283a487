import * as v from 'valibot';
import { expect, test } from 'vitest';
import { assertKnownFields, check } from '../../../src/core/ground/check.ts';

const known = ['name', 'needsApproval', 'retry'];

test('a field that there is not is named, with the one that was meant', () => {
	expect(() => assertKnownFields({ name: 'pay', needApproval: true }, known, { owner: 'tool pay' })).toThrow(
		expect.objectContaining({
			code: 'invalid_request',
			message: 'needApproval: no such field (tool pay). Did you mean needsApproval?',
			data: { field: 'needApproval' },
		}),
	);
});

test('without a near name all fields are listed, unless there are many', () => {
	expect(() => assertKnownFields({ colour: 1 }, known)).toThrow(
		'colour: no such field. Take it out, or use one of: name, needsApproval, retry.',
	);
	const many = Array.from({ length: 21 }, (_, index) => `field${index}`);
	expect(() => assertKnownFields({ colour: 1 }, many)).toThrow(/^colour: no such field\. Take it out\.$/);
});

test('a field that is there already was not meant', () => {
	expect(() => assertKnownFields({ needsApproval: true, needApproval: true }, known)).toThrow(/Take it out/);
});

test('a field within another is named by its path, with the one that was meant', () => {
	const inner = v.strictObject({ toolMs: v.optional(v.number()), runMs: v.optional(v.number()) });
	const schema = v.strictObject({ timeouts: v.optional(inner), list: v.optional(v.array(inner)) });
	expect(() => check(schema, { timeouts: { toolMS: 3 } }, 'agent')).toThrow(
		/^timeouts\.toolMS: no such field\. Did you mean toolMs\?$/,
	);
	expect(() => check(schema, { list: [{}, { run: 3 }] }, 'agent')).toThrow(/^list\.1\.run: .* Did you mean runMs\?$/);
	expect(() => check(schema, { timeouts: { colour: 3 } }, 'agent')).toThrow(/^timeouts\.colour: no such field$/);
});

test('a list in place of an object is told as such, not as an object without its fields', () => {
	const schema = v.strictObject({ agent: v.string() });
	const piped = v.pipe(schema, v.readonly());
	expect(() => check(schema, [], 'body')).toThrow(/^body: expected an object, not a list$/);
	expect(() => check(piped, [{}], 'body')).toThrow(/^body: expected an object, not a list$/);
});
