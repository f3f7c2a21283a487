import * as v from 'valibot';
import { RunletError } from '../base/errors.ts';
import { fromFn } from '../tool/define.ts';
import { fn, type Tool } from '../tool/index.ts';

const expression = v.pipe(
	v.string(),
	v.maxLength(1_000),
	v.description('An expression of numbers, + - * / % ^ and parentheses, such as (17 + 25) * 2'),
);

export function arithmeticTool(): Tool {
	return fromFn(
		fn(
			{
				name: 'calculate',
				doc: 'Calculate the value of an arithmetic expression.',
				params: [['expression', expression]],
				returns: v.number(),
			},
			(text) => calculate(text),
		),
		{ retry: 'safe', readOnly: true },
	);
}

/**
 * Computes an expression of numbers, `+ - * / %`, `^` (right to left), unary signs and parentheses. Uses double
 * precision and rounds to 15 digits. Throws `invalid_argument`, which says where the mistake is.
 */
export function calculate(text: string): number {
	const tokens = [...text.matchAll(/\s*(\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+|\*\*|[-+*/%^()×÷−]|\S)/giuy)].map(
		(match) => ({
			text: match[1] ?? '',
			place: match.index + match[0].length - (match[1] ?? '').length + 1,
		}),
	);
	let at = 0;
	let depth = 0;

	const peek = (): string | undefined => tokens[at]?.text;
	const fail = (expected: string): never => {
		const found = peek();
		const where = found === undefined ? 'at the end' : `at "${found}" (character ${tokens[at]?.place})`;
		throw new RunletError('invalid_argument', `expression: expected ${expected} ${where}.`);
	};
	const binary = (
		operand: () => number,
		operators: Readonly<Record<string, (a: number, b: number) => number>>,
	): number => {
		let value = operand();
		for (let token = peek(); token !== undefined && Object.hasOwn(operators, token); token = peek()) {
			at++;
			value = operators[token]?.(value, operand()) ?? value;
		}
		return value;
	};
	const sum = (): number => binary(product, { '+': (a, b) => a + b, '-': (a, b) => a - b, '−': (a, b) => a - b });
	const product = (): number =>
		binary(readSigned, { '*': times, '×': times, '/': divide, '÷': divide, '%': remainder });
	const readSigned = (): number => {
		const token = peek();
		if (token !== '-' && token !== '+' && token !== '−') return power();
		at++;
		return token === '+' ? readNested(readSigned) : -readNested(readSigned);
	};
	const power = (): number => {
		const base = primary();
		if (peek() !== '^' && peek() !== '**') return base;
		at++;
		return base ** readNested(readSigned);
	};
	const primary = (): number => {
		const token = peek();
		if (token === '(') {
			at++;
			const value = readNested(sum);
			if (peek() !== ')') fail('")"');
			at++;
			return value;
		}
		if (token === undefined || !/^[\d.]/.test(token) || token === '.') return fail('a number');
		at++;
		return Number(token);
	};
	const readNested = (inner: () => number): number => {
		if (++depth > 200) throw new RunletError('invalid_argument', 'expression: nested more than 200 deep.');
		const value = inner();
		depth--;
		return value;
	};

	const value = sum();
	if (at < tokens.length) fail('an operator');
	if (Number.isNaN(value)) throw new RunletError('invalid_argument', 'expression: the result is no real number.');
	if (!Number.isFinite(value))
		throw new RunletError('invalid_argument', 'expression: the result is too large, or a division by zero.');
	return Number.isInteger(value) ? value + 0 : Number(value.toPrecision(15));
}

const times = (a: number, b: number): number => a * b;

const divide = (a: number, b: number): number => {
	if (b === 0) throw new RunletError('invalid_argument', 'expression: a division by zero.');
	return a / b;
};

const remainder = (a: number, b: number): number => {
	if (b === 0) throw new RunletError('invalid_argument', 'expression: a division by zero.');
	return a % b;
};
