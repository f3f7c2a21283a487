/** Types of tools. `tsc` fails if an expected error is missing. Nothing runs this file. */

import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { askUser, fn, halt, type JsonSchema, type Tool, tool, toolbox } from '../../src/core/index.ts';

/** Compiles only if both types are the same. */
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

// A function made with `fn` is still an ordinary function.
same<ReturnType<typeof add>, number>(true);
add(2, 3);
// @ts-expect-error a wrong type
add('2', 3);
// @ts-expect-error one argument too few
add(2);
// @ts-expect-error one argument too many
add(2, 3, 4);

// An optional parameter may be omitted, and is possibly undefined in the function.
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

// Zod and ArkType parameters are inferred, too.
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

// A function returns a value of the type `returns`, a promise of such a value, a question, or a halt.
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

// Hooks of a record get the arguments of any kind of schema. onResult gets the result of fn.
const hooked = { name: 'pay', description: 'd' } as const;
tool.define({
	...hooked,
	passInput: true,
	inputSchema: v.object({ amount: v.number() }),
	fn: async ({ amount }) => (amount > 1 ? { paid: amount } : askUser('Sure?')),
	needsApproval: ({ amount }) => {
		same<typeof amount, number>(true);
		return amount > 10;
	},
	onRequest: (args) => {
		same<typeof args, { amount: number }>(true);
		// @ts-expect-error not in the schema
		return args.currency;
	},
	onResult: (args, result) => {
		same<typeof args, { amount: number }>(true);
		same<typeof result, { paid: number }>(true);
		return String(result.paid);
	},
	onError: (args, reason) => {
		same<typeof args, { amount: number }>(true);
		return reason;
	},
});
tool.define({
	...hooked,
	passInput: true,
	inputSchema: z.object({ amount: z.number(), note: z.string().optional() }),
	fn: ({ amount }) => amount.toFixed(),
	needsApproval: ({ note }) => {
		same<typeof note, string | undefined>(true);
		return note === undefined;
	},
	// @ts-expect-error not in the schema
	onRequest: ({ currency }) => currency,
});
tool.define({
	...hooked,
	passInput: true,
	inputSchema: type({ amount: 'number', 'to?': "'a' | 'b'" }),
	fn: ({ to }) => {
		same<typeof to, 'a' | 'b' | undefined>(true);
	},
	needsApproval: ({ amount }) => amount > 10,
	// @ts-expect-error not in the schema
	onRequest: ({ currency }) => currency,
});
tool.define({
	...hooked,
	passInput: true,
	inputSchema: {
		type: 'object',
		properties: {
			amount: { type: 'integer' },
			to: { enum: ['a', 'b'] },
			notes: { type: 'array', items: { type: ['string', 'null'] } },
			at: { anyOf: [{ const: 'now' }, { type: 'object', properties: { day: { type: 'string' } } }] },
			more: { $ref: '#/$defs/more' },
			free: { type: 'object' },
		},
		required: ['amount', 'at'],
	},
	fn: (input) => {
		same<
			typeof input,
			{
				amount: number;
				at: 'now' | { day?: string };
				to?: 'a' | 'b';
				notes?: (string | null)[];
				more?: unknown;
				free?: Record<string, unknown>;
			}
		>(true);
	},
	needsApproval: ({ amount }) => amount > 10,
	// @ts-expect-error not in the schema
	onRequest: ({ currency }) => currency,
});

// The handler and the other hooks get the result of readArgs.
tool.define({
	...hooked,
	passInput: true,
	inputSchema: v.object({ day: v.string() }),
	readArgs: async ({ day }) => {
		same<typeof day, string>(true);
		return { date: new Date(day) };
	},
	fn: (input) => {
		same<typeof input, { date: Date }>(true);
	},
	needsApproval: ({ date }) => date.getTime() > 0,
	// @ts-expect-error readArgs has made a date of it
	onRequest: ({ day }) => day,
});

// A schema of the type JsonSchema describes an object with unknown fields.
const given: JsonSchema = { type: 'object' };
tool.define({
	...hooked,
	passInput: true,
	inputSchema: given,
	fn: (input) => {
		same<typeof input, Record<string, unknown>>(true);
	},
});

// `state.get` has the type of its schema.
tool.define({
	...hooked,
	passInput: true,
	inputSchema: {},
	fn: async (_, { state }) => {
		same<Awaited<ReturnType<typeof state.list>>, readonly string[]>(true);
		const any = await state.get('count');
		same<typeof any, unknown>(true);
		const count = await state.get('count', v.number());
		same<typeof count, number | undefined>(true);
	},
});

// An unknown field of a tool is an error.
// @ts-expect-error needsApproval
tool.define({ ...hooked, inputSchema: {}, needApproval: true });
// @ts-expect-error params
fn({ name: 'add', param: [] }, () => 1);

// The three required fields of a record are required, and manual is a boolean.
// @ts-expect-error no description
tool.define({ name: 'weather', inputSchema: {} });
// @ts-expect-error no inputSchema
tool.define({ name: 'weather', description: 'd' });
// @ts-expect-error manual is no text
tool.define({ name: 'weather', description: 'd', inputSchema: {}, manual: 'yes' });

// Lists of tools mix functions and records. A plain function has no signature.
const record: Tool = { name: 'web', inputSchema: { type: 'object' } };
tool.forAgent([add, greet, record]);
toolbox.build([add, record]);
// @ts-expect-error a plain function
tool.forAgent([(x: number) => x]);

// The outcome of a toolbox call is a value or an error. `ok` distinguishes them.
const outcome = await toolbox.perform('add', {}, {});
if (!outcome.ok)
	same<typeof outcome.error.kind, 'unknown_tool' | 'missing_argument' | 'invalid_argument' | 'failed'>(true);
