/**
 * Counts the steps of a shell command. A local runtime does not stop an endless computation, and the clock stands still
 * during a computation. So scripts/pack/count-steps.ts puts calls of these functions into the code of the shell.
 */

/** After this many steps of synchronous code, the command is stopped. The steps take about 60 ms. */
const mostAtOnce = 24_000_000;

/** The steps after which asynchronous code lets timers and other requests run. They take about 15 ms. */
const dueAfter = 6_000_000;

/** The maximum number of steps in a command. They take a few seconds. */
const mostSteps = 1_500_000_000;

/** The steps that a function call counts as. An iteration of a loop counts as one step, because it can be short. */
const perCall = 20;

/** The number of steps that a call of `localeCompare` counts as. */
const perComparison = 300;

/** The number of characters of a text, or entries of a list, that count as one step. */
const perStep = 4;

let leftAtOnce = mostAtOnce;
let leftInAll = mostSteps;

const over = Promise.withResolvers<'over'>();

/** Resolves after too many steps. Code that still runs throws at its next step. */
export const stopped = over.promise;

export function step(): void {
	if (--leftAtOnce < 0) stop();
}

export function call(): void {
	leftAtOnce -= perCall;
	if (leftAtOnce < 0) stop();
}

/** Counts steps by the length of a list or a text, and returns the value. */
export function spend<T>(value: T): T {
	if (typeof value === 'string' || Array.isArray(value)) leftAtOnce -= value.length / perStep;
	if (leftAtOnce < 0) stop();
	return value;
}

function stop(): never {
	over.resolve('over');
	throw new Error('The command computes too much.');
}

/** Whether asynchronous code has to call `rest`. */
export function isDue(): boolean {
	return leftAtOnce < mostAtOnce - dueAfter;
}

const { setTimeout: setTimer } = globalThis;

/** Lets timers and other requests run. */
export async function rest(): Promise<void> {
	leftInAll -= mostAtOnce - leftAtOnce;
	await new Promise<void>((resolve) => setTimer(resolve, 0));
	if (leftAtOnce >= 0) leftAtOnce = Math.min(mostAtOnce, leftInAll);
}

/** Built-in functions that process a whole text or list. */
const counted: readonly (readonly [prototype: object, names: readonly string[]])[] = [
	[
		String.prototype,
		[
			...['split', 'replace', 'replaceAll', 'match', 'search', 'indexOf', 'lastIndexOf', 'includes', 'repeat'],
			...['toLowerCase', 'toUpperCase', 'normalize', 'padStart', 'padEnd', 'trim', 'concat'],
		],
	],
	[
		Array.prototype,
		[
			...['slice', 'concat', 'join', 'indexOf', 'lastIndexOf', 'includes', 'sort', 'reverse', 'splice', 'shift'],
			...['unshift', 'flat', 'fill', 'map', 'filter'],
		],
	],
];
for (const [prototype, names] of counted) for (const name of names) countCalls(prototype, name);

function countCalls(prototype: object, name: string): void {
	const own: unknown = Reflect.get(prototype, name);
	if (typeof own !== 'function') return;
	const method = {
		[name](this: unknown, ...args: unknown[]): unknown {
			spend(this);
			// The result can be long, too, such as a repeated text or the parts of a split text.
			return spend(Reflect.apply(own, this, args));
		},
	}[name];
	Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
}

// `localeCompare` takes a microsecond even for short texts.
const { localeCompare } = String.prototype;
Object.assign(String.prototype, {
	localeCompare(this: string, ...args: Parameters<typeof localeCompare>): number {
		leftAtOnce -= perComparison;
		spend(this);
		return localeCompare.apply(this, args);
	},
});

const { parse, stringify } = JSON;
JSON.parse = (text, reviver) => parse(spend(text), reviver);
Object.assign(JSON, { stringify: (...args: Parameters<typeof stringify>) => spend(stringify(...args)) });
