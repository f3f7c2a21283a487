import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import {
	type OverrideActionContext,
	type JsonSchema as ValibotJsonSchema,
	toJsonSchema as valibotToJsonSchema,
} from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { RunletError, toMessageText } from '../base/errors.ts';
import { isRecord, isTooDeep, maxLevels } from '../base/json.ts';
import { compileSchema } from './json-schema/compile.ts';
import { findReferred, type JsonSchema, toCurrentDraft } from './json-schema/keywords.ts';
import { findIssues } from './json-schema/validate.ts';

export type { JsonSchema };

/**
 * Any schema that Runlet accepts besides plain JSON Schema: valibot, Zod 4, ArkType, … (https://standardschema.dev).
 */
export type AnySchema = StandardSchemaV1;

/** The result of checking an input: the parsed value, or one line for each mistake, starting with its path. */
export type Checked = { readonly value: unknown } | { readonly issues: readonly string[] };

export function isSchema(value: unknown): value is AnySchema {
	return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

/** Converts a schema to JSON Schema. If this is impossible, throws `invalid_tool` with `where` in the message. */
export function toJsonSchema(schema: AnySchema, where: string): JsonSchema {
	try {
		const { $schema: _, ...json } = isValibot(schema)
			? valibotToJsonSchema(schema, { target: 'draft-2020-12', typeMode: 'input', overrideAction: withoutCheck })
			: convertStandardSchema(schema);
		return json;
	} catch (error) {
		const remedy = 'Use a schema that JSON Schema can express, or give the tool an inputSchema of its own.';
		throw new RunletError(
			'invalid_tool',
			`${where}: no JSON Schema for this schema (${toMessageText(error)}). ${remedy}`,
			{
				field: where,
			},
		);
	}
}

/** Whether a value can be left out, because the schema is `v.optional(…)` or accepts `undefined`. */
export function isOptional(schema: AnySchema): boolean {
	if (isValibot(schema)) return ['optional', 'exact_optional', 'nullish', 'undefinedable'].includes(schema.type);
	const result = schema['~standard'].validate(undefined);
	return !(result instanceof Promise) && result.issues === undefined;
}

/** Checks a value against a schema. Issues begin with `path`. For an asynchronous schema, the result is a promise. */
export function checkWithSchema(schema: AnySchema, value: unknown, path = ''): Checked | Promise<Checked> {
	const toChecked = (result: StandardSchemaV1.Result<unknown>): Checked =>
		result.issues === undefined
			? { value: result.value }
			: { issues: result.issues.map((issue) => formatIssue([path, ...toIssuePath(issue)], issue.message)) };
	const result = schema['~standard'].validate(value);
	return result instanceof Promise ? result.then(toChecked) : toChecked(result);
}

const validators = new WeakMap<JsonSchema, (input: unknown) => Checked | Promise<Checked>>();

/** Registers `check` as the check for inputs of this JSON Schema. The check can also transform inputs. */
export function rememberCheck(schema: JsonSchema, check: (input: unknown) => Checked | Promise<Checked>): JsonSchema {
	validators.set(schema, check);
	return schema;
}

/** Returns the compiled check for inputs of a JSON Schema. Throws a `SchemaError` for an unusable schema. */
export function prepareCheck(schema: JsonSchema): (input: unknown) => Checked | Promise<Checked> {
	const check = validators.get(schema) ?? compileCheck(schema);
	validators.set(schema, check);
	return check;
}

/**
 * Checks an input against a tool's `inputSchema`, or against the schema that the `inputSchema` was made from. A
 * `null` for an optional value, at any depth, counts as left out, because models in strict mode send `null` for such a
 * value. The result is a promise only if the schema checks asynchronously.
 */
export function checkInput(schema: JsonSchema, input: unknown): Checked | Promise<Checked> {
	if (isTooDeep(input)) return { issues: [`The arguments are nested more than ${maxLevels} levels deep.`] };
	const check = prepareCheck(schema);
	return whenChecked(check(input), (checked) => {
		if ('value' in checked || !hasNull(input)) return checked;
		const second = check(dropOptionalNulls(schema, input, { root: schema, visits: 0 }));
		return whenChecked(second, (again) => ('value' in again ? again : checked));
	});
}

/** Calls `next` with the result of a check: at once, or later if the schema is asynchronous. */
function whenChecked(
	checked: Checked | Promise<Checked>,
	next: (checked: Checked) => Checked | Promise<Checked>,
): Checked | Promise<Checked> {
	return checked instanceof Promise ? checked.then(next) : next(checked);
}

const outputChecks = new WeakMap<JsonSchema, (output: unknown) => Checked>();

/** Checks the output of a model or a tool. Unlike in `checkInput`, a `null` does not count as left out. */
export async function checkOutput(schema: JsonSchema | AnySchema, output: unknown): Promise<Checked> {
	if (isTooDeep(output)) return { issues: [`nested more than ${maxLevels} levels deep`] };
	return isSchema(schema) ? checkWithSchema(schema, output) : prepareOutputCheck(schema)(output);
}

/** Returns the compiled check for outputs of a JSON Schema. Throws a `SchemaError` for an unusable schema. */
export function prepareOutputCheck(schema: JsonSchema): (output: unknown) => Checked {
	const check = outputChecks.get(schema) ?? compileCheck(schema);
	outputChecks.set(schema, check);
	return check;
}

/** Makes one schema whose `properties` are the named schemas. Moves the targets of `$ref`s to the root's `$defs`. */
export function asProperties(named: readonly (readonly [name: string, schema: JsonSchema])[]): JsonSchema {
	const defs: Record<string, unknown> = {};
	const properties = named.map(([name, schema], index) => {
		if (!JSON.stringify(schema).includes('"$ref":"#')) return [name, schema];
		let recursive = false;
		const { $defs, ...own } = mapRefs(schema, (ref) => {
			if (ref.startsWith('#/$defs/')) return `#/$defs/${index}_${ref.slice(8)}`;
			recursive = true;
			return `#/$defs/${index}${ref.slice(1)}`;
		});
		if (recursive) defs[index] = own;
		for (const [key, def] of Object.entries(isRecord($defs) ? $defs : {})) defs[`${index}_${key}`] = def;
		return [name, own];
	});
	return { properties: Object.fromEntries(properties), ...(Object.keys(defs).length > 0 && { $defs: defs }) };
}

export function getRequired(schema: JsonSchema): readonly string[] {
	return Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
}

export function getProperties(schema: JsonSchema): Readonly<Record<string, unknown>> {
	return isRecord(schema.properties) ? schema.properties : {};
}

function isValibot(schema: AnySchema): schema is GenericSchema {
	return schema['~standard'].vendor === 'valibot';
}

/** Leaves out a check that JSON Schema cannot express. The check still runs when values are validated. */
function withoutCheck({ errors, jsonSchema }: OverrideActionContext): ValibotJsonSchema | undefined {
	return errors === undefined ? undefined : jsonSchema;
}

function convertStandardSchema(schema: AnySchema): JsonSchema {
	const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard'];
	if (standard.jsonSchema === undefined) throw new Error(`${standard.vendor} gives no JSON Schema`);
	return standard.jsonSchema.input({ target: 'draft-2020-12' });
}

function compileCheck(schema: JsonSchema): (input: unknown) => Checked {
	const compiled = compileSchema(toCurrentDraft(schema));
	return (input) => {
		const issues = findIssues(compiled, input);
		return issues.length === 0 ? { value: input } : { issues };
	};
}

function toIssuePath(issue: StandardSchemaV1.Issue): string[] {
	// ArkType's path is a subclass of Array whose `map` adds an index to an empty path.
	return Array.from(issue.path ?? [], (segment) => String(typeof segment === 'object' ? segment.key : segment));
}

function formatIssue(path: readonly string[], message: string): string {
	const at = path.filter((segment) => segment !== '').join('.');
	return at === '' ? message : `${at}: ${message}`;
}

/** A walk through an input and its schema. The visits are limited, because branches of recursive schemas multiply. */
interface Walk {
	readonly root: JsonSchema;
	visits: number;
}
const mostVisits = 10_000;

/** Whether an object within the value has a `null` field. The value must not be nested too deep. */
function hasNull(value: unknown): boolean {
	if (Array.isArray(value)) return value.some((entry) => entry !== null && hasNull(entry));
	return isRecord(value) && Object.values(value).some((entry) => entry === null || hasNull(entry));
}

function dropOptionalNulls(schema: unknown, input: unknown, walk: Walk): unknown {
	if (!isRecord(schema) || typeof input !== 'object' || input === null || walk.visits++ > mostVisits) return input;
	const within = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
	if (typeof schema.$ref === 'string') within.push(findReferred(schema.$ref, walk.root));
	const trimmed = within.reduce<unknown>((value, branch) => dropOptionalNulls(branch, value, walk), input);
	if (Array.isArray(trimmed)) {
		const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
		return trimmed.map((item, index) =>
			dropOptionalNulls(index < first.length ? first[index] : schema.items, item, walk),
		);
	}
	if (!isRecord(trimmed)) return trimmed;
	const required = getRequired(schema);
	const properties = getProperties(schema);
	const kept = Object.entries(trimmed).filter(
		([name, value]) => value !== null || required.includes(name) || !Object.hasOwn(properties, name),
	);
	return Object.fromEntries(
		kept.map(([name, value]) => [
			name,
			dropOptionalNulls(Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties, value, walk),
		]),
	);
}

function mapRefs(node: JsonSchema, map: (ref: string) => string): JsonSchema {
	const mapSchema = (value: unknown): unknown =>
		Array.isArray(value) ? value.map(mapSchema) : isRecord(value) ? mapRefs(value, map) : value;
	return Object.fromEntries(
		Object.entries(node).map(([key, value]) => [
			key,
			key === '$ref' && typeof value === 'string' && value.startsWith('#') ? map(value) : mapSchema(value),
		]),
	);
}
