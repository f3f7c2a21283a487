/**
 * The steps of a command in a shell. A runtime on a laptop ends no isolate that computes without end, and clocks stand still
 * meanwhile, so the code of the shell counts: scripts/pack/count-steps.ts puts the calls of these functions into it.
 */

/** Steps of code that cannot wait, after which the command is stopped; about 60 ms. */
const mostAtOnce = 24_000_000;

/** Steps after which code that can wait gives timers and other requests a turn; about 15 ms. */
const dueAfter = 6_000_000;

/** Steps of a command in all: a few seconds. */
const mostSteps = 1_500_000_000;

/** Steps for a call of a function. A round of a loop, of which many only look at one character, is one. */
const perCall = 20;

/** Steps to compare two texts by the rules of a language. */
const perComparison = 300;

/** Characters or entries that the engine's own functions go through in the time of a step. */
const perStep = 4;

let leftAtOnce = mostAtOnce;
let leftInAll = mostSteps;

const over = Promise.withResolvers<'over'>();

/** Resolves once the command has taken too many steps. Whatever of it still runs throws at its next step. */
export const stopped = over.promise;

/** Counts a round of a loop. Throws once there were too many steps, and then each time. */
export function step(): void {
	if (--leftAtOnce < 0) stop();
}

/** Counts a call of a function. */
export function call(): void {
	leftAtOnce -= perCall;
	if (leftAtOnce < 0) stop();
}

/** Counts what the engine does to go through a list or a text. Returns it. */
export function spend<T>(value: T): T {
	if (typeof value === 'string' || Array.isArray(value)) leftAtOnce -= value.length / perStep;
	if (leftAtOnce < 0) stop();
	return value;
}

function stop(): never {
	over.resolve('over');
	throw new Error('The command computes too much.');
}

/** Whether code that can wait should do so. */
export function isDue(): boolean {
	return leftAtOnce < mostAtOnce - dueAfter;
}

const { setTimeout: setTimer } = globalThis;

/** Gives timers and other requests a turn. */
export async function rest(): Promise<void> {
	leftInAll -= mostAtOnce - leftAtOnce;
	await new Promise<void>((resolve) => setTimer(resolve, 0));
	if (leftAtOnce >= 0) leftAtOnce = Math.min(mostAtOnce, leftInAll);
}

/** Functions of the engine that go through all of a text or a list. */
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
			// A text that is repeated or padded, and the fields that one is split into.
			return spend(Reflect.apply(own, this, args));
		},
	}[name];
	Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
}

// Two texts are compared by the rules of a language, which takes a microsecond however short they are.
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
