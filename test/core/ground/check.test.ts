import { expect, test } from 'vitest';
import { assertKnownFields } from '../../../src/core/ground/check.ts';

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
