import { expect, test } from 'vitest';
import { type Node, parsePattern } from '../../src/core/tool/pattern/parse.ts';
import { type Attack, findAttacks, prepare, search } from './backtrack.ts';
import { type Expression, findExpressions } from './expressions.ts';

const found = findExpressions();
const unique = [...new Map(found.map((one) => [`${one.file} /${one.source}/${one.flags}`, one]))];

/** What four times the text may cost, times that of the text. */
const most = 4.5;

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
	const measured = findAttacks(parsed).map((attack) => measure(node, expression, attack, 100));
	const suspects = measured.filter(({ growth }) => !(growth < most)).sort(bySize);
	const long = suspects.slice(0, 12).map((suspect) => measureLonger(node, expression, suspect));
	return long.sort(bySize)[0] ?? measured.sort(bySize)[0] ?? { attack: undefined, growth: 0 };
}

/** Tries longer texts until one is long enough: what a repetition with a bound costs grows with the length only beyond it. */
function measureLonger(node: Node, expression: Expression, short: Measured): Measured {
	let measured = short;
	for (const length of [500, 1_500]) {
		if (measured.growth < most || short.attack === undefined) break;
		const longer = measure(node, expression, short.attack, length);
		// What the stack here is too small for tells nothing.
		if (!Number.isNaN(longer.growth)) measured = longer;
	}
	return measured;
}

test.each(unique)('the costs of %s grow with the length of the text, and not faster', (_, expression) => {
	const { attack, growth } = findWorst(expression);
	expect(growth, JSON.stringify(attack)).toBeLessThan(most);
});
