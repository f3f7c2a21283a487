import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolbox } from '../../../src/core/index.ts';
import { calculate } from '../../../src/core/toolboxes/arithmetic.ts';
import { refusal } from '../tool/support.ts';

/** Expressions for JavaScript's own parser. It has the same precedence, except for a sign before a power. */
const { sum } = fc.letrec<{ sum: string; factor: string }>((tie) => ({
	factor: fc.oneof(
		{ depthSize: 'small', withCrossShrink: true },
		fc.integer({ min: 0, max: 99 }).map(String),
		fc.double({ min: 0, max: 99, noNaN: true }).map((n) => n.toFixed(2)),
		tie('sum').map((inner) => `(${inner})`),
		tie('factor').map((inner) => `(-${inner})`),
		fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 3 })).map(([a, b]) => `(${a}**${b})`),
	),
	sum: fc
		.tuple(
			tie('factor'),
			fc.array(fc.tuple(fc.constantFrom('+', '-', '*', '/', '%', ' + ', ' - '), tie('factor')), { maxLength: 4 }),
		)
		.map(([first, rest]) => first + rest.flat().join('')),
}));

function close(a: number, b: number): boolean {
	return a === b || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}

describe('calculate', () => {
	test('gives the same results as JavaScript for the operators that both have', () => {
		fc.assert(
			fc.property(sum, (expression) => {
				fc.pre(expression.length <= 900);
				const expected: unknown = new Function(`return ${expression}`)();
				fc.pre(typeof expected === 'number' && Number.isFinite(expected));
				try {
					return close(calculate(expression.replaceAll('**', '^')), Number(expected));
				} catch (error) {
					// In JavaScript 1 / (1 / 0) is finite. For `calculate` a division by zero is an error.
					return String(error).includes('division by zero');
				}
			}),
			{ numRuns: 500 },
		);
	});

	test('computes sums and products of integers exactly', () => {
		const whole = fc.array(fc.tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 2 ** 47 })), {
			minLength: 1,
			maxLength: 20,
		});
		fc.assert(
			fc.property(whole, (terms) => {
				const expected = terms.reduce((total, [sign, n]) => (sign === '+' ? total + BigInt(n) : total - BigInt(n)), 0n);
				return BigInt(calculate(terms.flat().join(''))) === expected;
			}),
		);
		expect(calculate('9007199254740991')).toBe(9007199254740991);
		expect(calculate('94906265 * 94906265')).toBe(Number(94906265n ** 2n));
	});

	test.each([
		['2 + 3 * 4', 14],
		['(2 + 3) * 4', 20],
		['20 / 2 / 5', 2],
		['10 - 3 - 2', 5],
		['17 % 5 * 2', 4],
		['2 * 3 ^ 2', 18],
		['2 ^ 3 ^ 2', 512],
		['2 ** 10', 1024],
		['-2 ^ 2', -4],
		['(-2) ^ 2', 4],
		['2 ^ -1', 0.5],
		['-2 ^ -2', -0.25],
		['2 * -3', -6],
		['2 - -3', 5],
		['--3', 3],
		['-+-3', 3],
		['+3', 3],
		['-(1 + 2)', -3],
		['-7 % 3', -1],
		['.5 + 1.25', 1.75],
		['1.5e3', 1500],
		['2E-2', 0.02],
		['6 × 7', 42],
		['1 ÷ 4', 0.25],
		['5 − 3', 2],
		['\t1\n+ 1 ', 2],
		['0 * -1', 0],
	])('%s is %d', (expression, value) => {
		expect(calculate(expression)).toBe(value);
	});

	test('rounds away the errors of binary fractions, as in 0.1 + 0.2', () => {
		expect(calculate('0.1 + 0.2')).toBe(0.3);
		expect(calculate('4.35 * 100')).toBe(435);
		expect(calculate('1 / 3')).toBeCloseTo(1 / 3, 14);
	});

	test.each([
		['1 + $', '"$" (character 5)'],
		['1 +', 'at the end'],
		['', 'at the end'],
		['   ', 'at the end'],
		['(1 + 2', '")" at the end'],
		['1 + 2)', '")" (character 6)'],
		['2 3', '"3" (character 3)'],
		['* 2', '"*" (character 1)'],
		['1,000', '"," (character 2)'],
		['1.2.3', '".3" (character 4)'],
		['2 + x', '"x" (character 5)'],
		['1 + 😀', '"😀" (character 5)'],
		['()', '")" (character 2)'],
		['2e', '"e" (character 2)'],
	])('reports an error in %j with its position', (expression, place) => {
		expect(refusal(() => calculate(expression))).toMatchObject({
			code: 'invalid_argument',
			message: expect.stringContaining(place),
		});
	});

	test.each(['1 / 0', '0 / 0', '5 % 0', '1 / (2 - 2)', '0 ^ -1'])(
		'%s is an error about a division by zero',
		(expression) => {
			expect(refusal(() => calculate(expression)).message).toContain('division by zero');
		},
	);

	test('refuses a result that is too large or not a real number', () => {
		expect(refusal(() => calculate('10 ^ 400')).message).toContain('too large');
		expect(refusal(() => calculate('(-8) ^ 0.5')).message).toContain('no real number');
	});

	test.each(['process', 'constructor', 'alert(1)', '1;2', '[1]', '"a"', '1 == 1', '`1`', 'Infinity', '0x10'])(
		'does not evaluate JavaScript: %s is refused',
		(code) => {
			expect(refusal(() => calculate(code)).code).toBe('invalid_argument');
		},
	);

	test('refuses an expression that is nested too deep', () => {
		for (const open of ['(', '-', '2^'])
			expect(refusal(() => calculate(open.repeat(50_000))).message).toContain('200 deep');
	});

	test('for any text, returns a number or throws an error that explains the mistake', () => {
		fc.assert(
			fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.+-*/%^() e'), maxLength: 30 }), (text) => {
				try {
					return Number.isFinite(calculate(text));
				} catch (error) {
					return refusal(() => {
						throw error;
					}).message.startsWith('expression: ');
				}
			}),
		);
	});

	test('the tool explains a wrong expression, and refuses an expression that is too long', async () => {
		const ask = (expression: unknown) => toolbox.perform('calculate', { expression }, toolbox.basic());
		expect(await ask('1 +')).toMatchObject({
			ok: false,
			error: { message: expect.stringContaining('expected a number at the end') },
		});
		expect(await ask(`1${'+1'.repeat(600)}`)).toMatchObject({ ok: false, error: { kind: 'invalid_argument' } });
		expect(await ask(42)).toMatchObject({ ok: false, error: { kind: 'invalid_argument' } });
	});
});
