import { type JSONPathQuery, jsonpath } from 'json-p3';
import { isRecord } from '../base/json.ts';
import type { StepCounter, Steps } from '../base/work.ts';
import { equals } from '../tool/json-schema/values.ts';
import { compilePattern, type Pattern } from '../tool/pattern/pattern.ts';

/** Evaluates a JSONPath (RFC 9535) in counted steps. json-p3 only parses the path: its own evaluation never pauses. */
const { expressions, selectors } = jsonpath;
type Expression = InstanceType<typeof expressions.FilterExpression>;
type Selector = InstanceType<typeof selectors.JSONPathSelector>;

/** The cost of looking at a value, in steps. */
const perValue = 30;
/** The cost of one unit of `equals` work, in steps. `equals` counts 0.02 units for each value. */
const perEqual = 100;
/** The maximum number of cached patterns. */
const mostPatterns = 100;
/** The result of a query or function that has no value (RFC 9535, 2.4.1). */
const nothing = Symbol('Nothing');

/** The values that stay the same during a search. */
interface Search {
	readonly root: unknown;
	readonly work: StepCounter;
	readonly patterns: Map<string, Pattern>;
}

interface Found {
	readonly value: unknown;
}

/** Yields found values. Yields `undefined` to let other requests run. */
type Finding = Generator<Found | undefined, void, undefined>;

/** Yields the values in the order of RFC 9535. Yields `undefined` to let other requests run. */
export function findValues(path: JSONPathQuery, root: unknown, work: StepCounter): Finding {
	return find(path, root, { root, work, patterns: new Map() });
}

interface Segment {
	/** Whether the segment also selects from all descendants. */
	readonly isDeep: boolean;
	readonly selectors: readonly Selector[];
}

const known = new WeakMap<JSONPathQuery, readonly Segment[]>();

function find(path: JSONPathQuery, from: unknown, search: Search): Finding {
	const segments =
		known.get(path) ??
		path.segments.map((segment) => ({ isDeep: `${segment}`.startsWith('..'), selectors: segment.selectors }));
	known.set(path, segments);
	return walk(segments, from, search);
}

function* walk([segment, ...others]: readonly Segment[], from: unknown, search: Search): Finding {
	if (segment === undefined) {
		yield { value: from };
		return;
	}
	const open = [from];
	while (open.length > 0) {
		const value = open.pop();
		for (const selector of segment.selectors)
			for (const child of listSelected(selector, value)) {
				if (search.work.spend(perValue)) yield;
				const isWanted =
					!(selector instanceof selectors.FilterSelector) || (yield* isTrue(selector.expression, child, search));
				if (isWanted) yield* walk(others, child, search);
			}
		if (segment.isDeep) {
			const children = listChildren(value);
			for (let at = children.length - 1; at >= 0; at--) open.push(children[at]);
		}
		if (search.work.spend(perValue)) yield;
	}
}

function listChildren(value: unknown): readonly unknown[] {
	if (Array.isArray(value)) return value;
	return isRecord(value) ? Object.values(value) : [];
}

/** Lists the children that a selector names. For a filter, lists all children, because the filter is applied later. */
function listSelected(selector: Selector, value: unknown): readonly unknown[] {
	if (selector instanceof selectors.NameSelector)
		return isRecord(value) && Object.hasOwn(value, selector.name) ? [value[selector.name]] : [];
	if (selector instanceof selectors.IndexSelector) {
		const list: readonly unknown[] = Array.isArray(value) ? value : [];
		const at = selector.index < 0 ? list.length + selector.index : selector.index;
		return at >= 0 && at < list.length ? [list[at]] : [];
	}
	if (selector instanceof selectors.SliceSelector) return Array.isArray(value) ? slice(value, selector) : [];
	return listChildren(value);
}

function slice(
	list: readonly unknown[],
	{ start, stop, step = 1 }: InstanceType<typeof selectors.SliceSelector>,
): readonly unknown[] {
	const { length } = list;
	const [least, most] = step < 0 ? [-1, length - 1] : [0, length];
	const toPlace = (at: number): number => Math.min(most, Math.max(least, at < 0 ? at + length : at));
	const from = start === undefined ? (step < 0 ? most : least) : toPlace(start);
	const to = stop === undefined ? (step < 0 ? least : most) : toPlace(stop);
	const count = step === 0 ? 0 : Math.max(0, Math.ceil((to - from) / step));
	return Array.from({ length: count }, (_, n) => list[from + n * step]);
}

/** Whether a filter's expression holds for a value. */
function* isTrue(expression: Expression, current: unknown, search: Search): Steps<boolean> {
	if (expression instanceof expressions.LogicalExpression) return yield* isTrue(expression.expression, current, search);
	if (expression instanceof expressions.PrefixExpression) return !(yield* isTrue(expression.right, current, search));
	if (expression instanceof expressions.FilterQuery) return (yield* count(expression, current, search, 1)) > 0;
	if (!(expression instanceof expressions.InfixExpression))
		return (yield* evaluate(expression, current, search)) !== false;
	const { left, operator, right } = expression;
	if (operator === '&&') return (yield* isTrue(left, current, search)) && (yield* isTrue(right, current, search));
	if (operator === '||') return (yield* isTrue(left, current, search)) || (yield* isTrue(right, current, search));
	return compare(
		yield* evaluate(left, current, search),
		operator,
		yield* evaluate(right, current, search),
		search.work,
	);
}

function compare(left: unknown, operator: string, right: unknown, work: StepCounter): boolean {
	const isEqual = (): boolean => left === right || equals(left, right, (steps) => void work.spend(steps * perEqual));
	const isLess = (one: unknown, other: unknown): boolean =>
		(typeof one === 'number' && typeof other === 'number' && one < other) ||
		(typeof one === 'string' && typeof other === 'string' && one < other);
	switch (operator) {
		case '==':
			return isEqual();
		case '!=':
			return !isEqual();
		case '<':
			return isLess(left, right);
		case '>':
			return isLess(right, left);
		case '<=':
			return isLess(left, right) || isEqual();
		default:
			return isLess(right, left) || isEqual();
	}
}

/** Counts the results of a query within a filter. Stops at `most`. */
function* count(query: Expression, current: unknown, search: Search, most: number): Steps<number> {
	let found = 0;
	for (const one of findFor(query, current, search)) {
		if (one === undefined) yield;
		else if (++found === most) return found;
	}
	return found;
}

function findFor(query: Expression, current: unknown, search: Search): Finding | readonly Found[] {
	if (!(query instanceof expressions.FilterQuery)) return [];
	return find(query.path, query instanceof expressions.RootQuery ? search.root : current, search);
}

/** Returns the value of an expression. A query has a value only if it has exactly one result. */
function* evaluate(expression: Expression, current: unknown, search: Search): Steps<unknown> {
	if (expression instanceof expressions.NullLiteral) return null;
	if (
		expression instanceof expressions.StringLiteral ||
		expression instanceof expressions.NumberLiteral ||
		expression instanceof expressions.BooleanLiteral
	)
		return expression.value;
	if (expression instanceof expressions.FunctionExtension) return yield* call(expression, current, search);
	let only: Found | undefined;
	for (const one of findFor(expression, current, search)) {
		if (one === undefined) yield;
		else if (only !== undefined) return nothing;
		else only = one;
	}
	return only === undefined ? nothing : only.value;
}

/** Calls one of the functions of RFC 9535, 2.4. */
function* call(
	{ name, args: [first, second] }: InstanceType<typeof expressions.FunctionExtension>,
	current: unknown,
	search: Search,
): Steps<unknown> {
	if (first === undefined) return nothing;
	if (name === 'count') return yield* count(first, current, search, Infinity);
	const value = yield* evaluate(first, current, search);
	if (name === 'value') return value;
	if (name === 'length') {
		if (typeof value === 'string') return [...value].length;
		return Array.isArray(value) || isRecord(value) ? Object.keys(value).length : nothing;
	}
	const pattern = second && (yield* evaluate(second, current, search));
	if (typeof value !== 'string' || typeof pattern !== 'string') return false;
	return yield* compile(name === 'match' ? `^(?:${pattern})$` : pattern, search).test(value, search.work);
}

/** Compiles a regular expression that a model wrote, so matching takes linear time. */
function compile(source: string, { patterns, work }: Search): Pattern {
	const ready = patterns.get(source);
	if (ready !== undefined) return ready;
	const pattern = compilePattern(source);
	work.spend(perValue * (source.length + pattern.steps));
	if (patterns.size === mostPatterns) patterns.clear();
	patterns.set(source, pattern);
	return pattern;
}
