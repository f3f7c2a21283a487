import { expect, test } from 'vitest';
import { findSum } from '../../../src/core/providers/demo-plan.ts';

test.each([
	['What is 2 + 3?', '2 + 3'],
	['(2+3)*4 please', '(2+3)*4'],
	['-5 + 3', '-5 + 3'],
	['2 * -3', '2 * -3'],
	['1.5 / 0.5, or 7 + 7', '1.5 / 0.5'],
	['I have 3 4 + 5 apples', '4 + 5'],
	['take 3 and (then) 4*5 + x', '4*5'],
	['((1+2)*3', '((1+2)*3'],
	['2 ^ (3 + 1)) !', '2 ^ (3 + 1))'],
])('from %j, findSum extracts the sum %j', (text, sum) => {
	expect(findSum(text)).toBe(sum);
});

test.each(['', 'none', '3', '3 +', '+ 3', '(', '3 4 5', '10/x', ') 3'])('findSum finds no sum in %j', (text) => {
	expect(findSum(text)).toBeUndefined();
});
