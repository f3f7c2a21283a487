import { expect, test } from 'vitest';
import { describeStack } from '../../../src/core/ground/errors.ts';

test('a stack is followed by those of its causes, and holds no key', () => {
	const cause = new TypeError('refused sk-abcdefghijklmnopqrstuvwxyz');
	const text = describeStack(new Error('No answer.', { cause })) ?? '';
	expect(text).toMatch(/^Error: No answer\.\n +at .*stack\.test\.ts:\d+:\d+/);
	expect(text).toMatch(/\nCaused by: TypeError: refused \[key\]\n +at /);
});

test('a chain of causes is followed so far and no further, also one without an end', () => {
	const error = new Error('again');
	error.cause = error;
	expect(describeStack(error)?.match(/again/g)).toHaveLength(4);
});

test('what is no error has no stack', () => {
	expect(describeStack('No luck.')).toBeUndefined();
});
