import {
	type ArrowFunctionExpression,
	type DoWhileStatement,
	type ForInStatement,
	type ForOfStatement,
	type ForStatement,
	type Function as FunctionNode,
	parseSync,
	Visitor,
	type WhileStatement,
} from 'oxc-parser';

type Fn = FunctionNode | ArrowFunctionExpression;

type Loop = ForStatement | ForInStatement | ForOfStatement | WhileStatement | DoWhileStatement;

/**
 * Puts a count of steps (src/cloudflare/agent/shell-steps.ts) into a module: at the beginning of every function
 * and of every round of a loop, and around every spread value. At these places, an async function pauses if a
 * pause is due.
 *
 * @param counter the path of the module that counts
 */
export function countSteps(source: string, counter: string): string {
	const { program, errors } = parseSync('module.js', source);
	if (errors[0] !== undefined) throw new Error(errors[0].message);
	const inserted: { readonly at: number; readonly text: string }[] = [];
	const insert = (at: number, text: string): void => void inserted.push({ at, text });
	const wrap = ({ start, end }: { readonly start: number; readonly end: number }, open: string, close: string) => {
		insert(start, open);
		insert(end, close);
	};
	/** For each open function, whether it may wait. */
	const open: boolean[] = [];
	const count = (counter: '$call' | '$step'): string =>
		`${counter}();${open.at(-1) === true ? 'if($isDue())await $rest();' : ''}`;
	const enter = ({ body, async }: Fn): void => {
		open.push(async);
		if (body === null) return;
		if (body.type === 'BlockStatement') insert(body.start + 1, count('$call'));
		else wrap(body, '($call(),', ')');
	};
	const enterLoop = ({ body }: Loop): void => {
		if (body.type === 'BlockStatement') insert(body.start + 1, count('$step'));
		else wrap(body, `{${count('$step')}`, '}');
	};
	const leave = (): void => void open.pop();
	new Visitor({
		FunctionDeclaration: enter,
		'FunctionDeclaration:exit': leave,
		FunctionExpression: enter,
		'FunctionExpression:exit': leave,
		ArrowFunctionExpression: enter,
		'ArrowFunctionExpression:exit': leave,
		// A class cannot wait while it is defined.
		StaticBlock: () => void open.push(false),
		'StaticBlock:exit': leave,
		ForStatement: enterLoop,
		ForInStatement: enterLoop,
		ForOfStatement: enterLoop,
		WhileStatement: enterLoop,
		DoWhileStatement: enterLoop,
		SpreadElement: ({ argument }) => wrap(argument, '$spend(', ')'),
	}).visit(program);
	const names = 'step as $step, call as $call, spend as $spend, isDue as $isDue, rest as $rest';
	return `import { ${names} } from ${JSON.stringify(counter)};\n${writeIn(source, inserted)}`;
}

/** Inserts texts into a source. At one place, inner texts close first, and outer texts open first. */
function writeIn(source: string, inserted: readonly { readonly at: number; readonly text: string }[]): string {
	const isClosing = (text: string): boolean => text === ')' || text === '}';
	const sorted = inserted
		.map((one, order) => ({ ...one, order }))
		.sort((a, b) => {
			if (a.at !== b.at) return a.at - b.at;
			if (isClosing(a.text) !== isClosing(b.text)) return isClosing(a.text) ? -1 : 1;
			return isClosing(a.text) ? b.order - a.order : a.order - b.order;
		});
	let last = 0;
	const pieces = sorted.flatMap(({ at, text }) => {
		const before = source.slice(last, at);
		last = at;
		return [before, text];
	});
	return [...pieces, source.slice(last)].join('');
}
