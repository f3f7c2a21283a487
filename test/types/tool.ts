/** Promises that only the compiler can check: `tsc` fails where an expected error is missing. Nothing runs this file. */

import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { askUser, fn, halt, type Tool, tool, toolbox } from '../../src/core/index.ts';

/** Compiles only where both types are the same. */
function same<A, B>(_: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never): void {}

const integer = v.pipe(v.number(), v.integer());
const add = fn(
	{
		name: 'myapp/add',
		params: [
			['x', integer],
			['y', integer],
		],
		returns: integer,
	},
	(x, y) => {
		same<typeof x, number>(true);
		same<typeof y, number>(true);
		return x + y;
	},
);

// A function made with fn is still an ordinary function.
same<ReturnType<typeof add>, number>(true);
add(2, 3);
// @ts-expect-error a wrong type
add('2', 3);
// @ts-expect-error one argument too few
add(2);
// @ts-expect-error one argument too many
add(2, 3, 4);

// An optional parameter may be left out, and may be undefined inside.
const greet = fn(
	{
		name: 'greet',
		params: [
			['name', v.string()],
			['greeting', v.optional(v.string())],
		],
	},
	(name, greeting) => {
		same<typeof greeting, string | undefined>(true);
		return `${greeting} ${name}`;
	},
);
greet('Ada');
greet('Ada', undefined);
// @ts-expect-error a wrong type
greet('Ada', 3);

// Zod and ArkType parameters are inferred too.
fn(
	{
		name: 'other',
		params: [
			['z', z.object({ a: z.string() })],
			['ark', type({ 'b?': 'number' })],
		],
	},
	(first, second) => {
		same<typeof first.a, string>(true);
		same<typeof second.b, number | undefined>(true);
	},
);

// What is returned must be what `returns` says, a promise of it, a question, or a halt.
fn({ name: 'later', returns: v.string() }, async () => 'text');
fn({ name: 'asks', returns: v.string() }, () => askUser('Which?'));
fn({ name: 'halts', returns: v.string() }, () => halt('done', 'text'));
// @ts-expect-error a number is no string
fn({ name: 'wrong', returns: v.string() }, () => 7);

// A tool with passInput infers its input from its schema, and gets a context.
tool.define({
	name: 'weather',
	description: 'by city',
	inputSchema: v.object({ city: v.string(), days: v.optional(v.number(), 1) }),
	passInput: true,
	fn: (input, context) => {
		same<typeof input, { city: string; days: number }>(true);
		same<typeof context.signal, AbortSignal>(true);
		same<typeof context.callId, string>(true);
		context.emit(['Weather', input.city]);
		// @ts-expect-error not in the schema
		return input.country;
	},
});
tool.define({
	name: 'zod',
	description: 'd',
	inputSchema: z.object({ n: z.number() }),
	passInput: true,
	fn: ({ n }) => n.toFixed(),
});

// The three required fields of a record are required, and manual is a boolean.
// @ts-expect-error no description
tool.define({ name: 'weather', inputSchema: {} });
// @ts-expect-error no inputSchema
tool.define({ name: 'weather', description: 'd' });
// @ts-expect-error manual is no text
tool.define({ name: 'weather', description: 'd', inputSchema: {}, manual: 'yes' });

// Functions and records mix; a plain function has no signature.
const record: Tool = { name: 'web', inputSchema: { type: 'object' } };
tool.forAgent([add, greet, record]);
toolbox.build([add, record]);
// @ts-expect-error a plain function
tool.forAgent([(x: number) => x]);

// The outcome of a toolbox call is a value or an error, told apart by ok.
const outcome = await toolbox.perform('add', {}, {});
if (!outcome.ok)
	same<typeof outcome.error.kind, 'unknown_tool' | 'missing_argument' | 'invalid_argument' | 'failed'>(true);
