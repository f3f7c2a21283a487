import type { StandardSchemaV1 } from '@standard-schema/spec';
import { assertKnownFields } from '../base/check.ts';
import { blameCaller, createFieldError, RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import type { AskUser, Halt, Parts } from './results.ts';
import {
	type AnySchema,
	asProperties,
	type Checked,
	checkWithSchema,
	isOptional,
	isSchema,
	type JsonSchema,
	rememberCheck,
	toJsonSchema,
} from './schema.ts';
import type { Tool } from './tool.ts';

/** The name and schema of one parameter. A parameter with `v.optional(…)` can be left out. */
export type Param = readonly [name: string, schema: AnySchema];

/** The TypeScript type of the arguments for a list of parameters. */
export type ArgsOf<P extends readonly Param[]> = P extends readonly [
	readonly [string, infer S extends AnySchema],
	...infer Rest extends readonly Param[],
]
	? undefined extends StandardSchemaV1.InferOutput<S>
		? [argument?: StandardSchemaV1.InferOutput<S>, ...rest: ArgsOf<Rest>]
		: [argument: StandardSchemaV1.InferOutput<S>, ...rest: ArgsOf<Rest>]
	: [];

/** The description of a function. */
export interface FnMeta<P extends readonly Param[] = readonly Param[], S extends AnySchema = AnySchema> {
	/**
	 * The qualified name, such as `myapp/add`. It is also the name of the tool or skill made from the function, unless
	 * `tool.name` or `skill.name` is set.
	 */
	readonly name: string;
	/** Tells the model what the function does. */
	readonly doc?: string;
	readonly params?: P;
	/** The schema of the return value. It becomes the tool's `outputSchema`. */
	readonly returns?: S;
	readonly tool?: { readonly name?: string; readonly description?: string };
	readonly skill?: FnSkillMeta;
}

/** The skill that is made from a function. Without a body, the function itself makes the text. */
export interface FnSkillMeta {
	readonly name?: string;
	readonly description: string;
	readonly when?: readonly string[];
	readonly modalities?: readonly string[];
	readonly body?: string;
	readonly bodyFn?: (...args: never[]) => string | Promise<string>;
	readonly tools?: readonly (AnyFn | Tool)[];
	readonly requires?: readonly string[];
}

/** A function made by `fn`. Call it like any other function. */
export interface Fn<P extends readonly Param[] = readonly Param[], R = unknown> {
	(...args: ArgsOf<P>): R;
	readonly meta: FnMeta;
}

/** Any function made by `fn`. */
export interface AnyFn {
	(...args: never[]): unknown;
	readonly meta: FnMeta;
}

/** The possible return values: a value of `returns`, a promise of the value, `parts(…)`, `askUser(…)` or `halt(…)`. */
type Returns<S extends AnySchema> = Awaitable<StandardSchemaV1.InferInput<S> | AskUser | Halt | Parts>;
type Awaitable<T> = T | Promise<T>;

/**
 * Gives a function a signature at run time, so that it can become a tool or a skill. The result is still an ordinary
 * function: a direct call checks nothing.
 *
 *      const add = fn({ name: 'myapp/add', doc: 'Add two integers.', params: [['x', integer], ['y', integer]] }, (x, y) => x + y);
 *      add(2, 3); // 5
 */
export function fn<
	const P extends readonly Param[] = [],
	S extends AnySchema = AnySchema,
	R extends Returns<S> = Returns<S>,
>(meta: FnMeta<P, S>, implementation: (...args: ArgsOf<P>) => R): Fn<P, R> {
	blameCaller(fn, () => assertSignature(meta, implementation));
	const wrap = (...args: ArgsOf<P>): R => implementation(...args);
	Object.defineProperty(wrap, 'name', { value: meta.name });
	return Object.assign(wrap, { meta: Object.freeze({ ...meta }) });
}

const metaFields = Object.keys({
	name: true,
	doc: true,
	params: true,
	returns: true,
	tool: true,
	skill: true,
} satisfies Record<keyof FnMeta, true>);

const skillFields = Object.keys({
	name: true,
	description: true,
	when: true,
	modalities: true,
	body: true,
	bodyFn: true,
	tools: true,
	requires: true,
} satisfies Record<keyof FnSkillMeta, true>);

function assertSignature(meta: FnMeta, implementation: unknown): void {
	if (typeof meta?.name !== 'string' || meta.name === '')
		throw createInvalid('name', 'a function made with fn needs a name, such as "myapp/add".');
	assertKnownMeta(meta);
	const { name, params = [] } = meta;
	if (typeof implementation !== 'function')
		throw createInvalid('implementation', `the second argument of fn must be the function itself (fn ${name}).`);
	const isPair = (entry: unknown) => Array.isArray(entry) && typeof entry[0] === 'string' && isSchema(entry[1]);
	if (!Array.isArray(params) || !params.every(isPair))
		throw createInvalid('params', `expected a list of [name, schema], such as [['x', v.number()]] (fn ${name}).`);
	const names = params.map(([param]) => param);
	const twice = names.find((param, index) => names.indexOf(param) !== index);
	if (twice !== undefined) throw createInvalid('params', `${name} has two parameters named ${twice}.`);
}

function createInvalid(field: string, what: string): RunletError {
	return new RunletError('invalid_tool', `${field}: ${what}`, { field });
}

function assertKnownMeta({ name, ...meta }: FnMeta): void {
	const code = 'invalid_tool';
	assertKnownFields(meta, metaFields, { code, owner: `fn ${name}` });
	assertKnownFields(meta.tool ?? {}, ['name', 'description'], { code, owner: `tool of fn ${name}` });
	assertKnownFields(meta.skill ?? {}, skillFields, { code, owner: `skill of fn ${name}` });
}

/** Whether a value was made by `fn`. */
export function isFn(value: unknown): value is AnyFn {
	return typeof value === 'function' && 'meta' in value && isRecord(value.meta) && typeof value.meta.name === 'string';
}

/** A function's signature, with its parameters and return value as JSON Schemas. */
export interface FnSchema {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
}

const schemas = new WeakMap<AnyFn, FnSchema>();

/**
 * Returns the name, description, `inputSchema` and `outputSchema` of a function made by `fn`. They are computed once
 * for each function.
 */
export function schemaFromFn(f: AnyFn): FnSchema {
	const known = schemas.get(f);
	if (known !== undefined) return known;
	if (!isFn(f)) {
		throw createFieldError(
			'invalid_tool',
			'fn',
			'TypeScript erases types, so a plain function has no signature at run time. Wrap it: fn({ name, params }, f).',
		);
	}
	const { name, doc, params = [], returns } = f.meta;
	const schema: FnSchema = Object.freeze({
		name,
		description: doc,
		inputSchema: rememberCheck(
			{
				type: 'object',
				...asProperties(params.map(([key, type]) => [key, toJsonSchema(type, `${name}: ${key}`)])),
				required: params.filter(([, type]) => !isOptional(type)).map(([key]) => key),
			},
			(input) => checkParams(params, input),
		),
		...(returns !== undefined && { outputSchema: toJsonSchema(returns, `${name}: returns`) }),
	});
	schemas.set(f, schema);
	return schema;
}

/** Lists the parameter names in the order of the parameters. */
export function listParamNames(f: AnyFn): readonly string[] {
	return (f.meta.params ?? []).map(([name]) => name);
}

async function checkParams(params: readonly Param[], input: unknown): Promise<Checked> {
	if (!isRecord(input))
		return { issues: [`expected an object with ${params.map(([name]) => name).join(', ') || 'no arguments'}`] };
	const values: [string, unknown][] = [];
	const issues: string[] = [];
	for (const [name, schema] of params) {
		if (!Object.hasOwn(input, name) && !isOptional(schema)) {
			issues.push(`${name}: missing`);
			continue;
		}
		const checked = await checkWithSchema(schema, Object.hasOwn(input, name) ? input[name] : undefined, name);
		if ('issues' in checked) issues.push(...checked.issues);
		else values.push([name, checked.value]);
	}
	return issues.length > 0 ? { issues } : { value: Object.fromEntries(values) };
}
