import { expect, test } from 'vitest';
import { describeStack } from '../../../src/core/base/errors.ts';

test('adds the stacks of the causes, and hides API keys', () => {
	const cause = new TypeError('refused sk-abcdefghijklmnopqrstuvwxyz');
	const text = describeStack(new Error('No answer.', { cause })) ?? '';
	expect(text).toMatch(/^Error: No answer\.\n +at .*errors\.test\.ts:\d+:\d+/);
	expect(text).toMatch(/\nCaused by: TypeError: refused \[key\]\n +at /);
});

test('limits the chain of causes, even if the chain is endless', () => {
	const error = new Error('again');
	error.cause = error;
	expect(describeStack(error)?.match(/again/g)).toHaveLength(4);
});

test('returns no stack for a value that is not an Error', () => {
	expect(describeStack('No luck.')).toBeUndefined();
});
