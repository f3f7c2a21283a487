import { expect, test } from 'vitest';
import { type Node, parsePattern } from '../../src/core/tool/pattern/parse.ts';
import { type Attack, findAttacks, prepare, search } from './backtrack.ts';
import { type Expression, findExpressions } from './expressions.ts';

const found = findExpressions();
const unique = [...new Map(found.map((one) => [`${one.file} /${one.source}/${one.flags}`, one]))];

interface Measured {
	readonly attack: Attack | undefined;
	readonly growth: number;
}

/** How much more four times the text costs: four times as much, where the costs grow with the length. */
function measure(node: Node, { flags }: Expression, attack: Attack, length: number): Measured {
	const cost = (times: number): number => {
		const text = attack.head + attack.pump.repeat((times * length) / attack.pump.length) + attack.tail;
		return search(node, text, { flags, most: 12_000_000 }).steps;
	};
	const once = cost(1);
	return { attack, growth: once === Number.POSITIVE_INFINITY ? once : cost(4) / once };
}

/** The attack under which the costs grow most. What only a short text can cause does not count. */
function findWorst(expression: Expression): Measured {
	const parsed = parsePattern(expression.source);
	const node = prepare(parsed, expression.flags);
	const bySize = (one: Measured, other: Measured) => other.growth - one.growth;
	const short = findAttacks(parsed).map((attack) => measure(node, expression, attack, 100));
	const suspects = short.filter(({ growth }) => !(growth < 4.5)).sort(bySize);
	const long = suspects.slice(0, 12).map(({ attack }) => {
		const tries = [1_500, 500, 100].map((length) => attack && measure(node, expression, attack, length));
		return tries.find((one) => one !== undefined && !Number.isNaN(one.growth)) ?? { attack, growth: Number.NaN };
	});
	return long.sort(bySize)[0] ?? short.sort(bySize)[0] ?? { attack: undefined, growth: 0 };
}

test.each(unique)('the costs of %s grow with the length of the text, and not faster', (_, expression) => {
	const { attack, growth } = findWorst(expression);
	expect(growth, JSON.stringify(attack)).toBeLessThan(4.5);
});
