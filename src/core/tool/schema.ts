import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import {
	type OverrideActionContext,
	type JsonSchema as ValibotJsonSchema,
	toJsonSchema as valibotToJsonSchema,
} from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { RunletError, toMessageText } from '../ground/errors.ts';
import { isRecord, isTooDeep, maxLevels } from '../ground/json.ts';
import { compileSchema } from './json-schema/compile.ts';
import { toCurrentDraft } from './json-schema/draft.ts';
import { findReferred, type JsonSchema } from './json-schema/keywords.ts';
import { findIssues } from './json-schema/validate.ts';

export type { JsonSchema };

/** Any schema that Runlet takes beside plain JSON Schema: valibot, Zod 4, ArkType, … (https://standardschema.dev). */
export type AnySchema = StandardSchemaV1;

/** Outcome of checking an input: the parsed value, or one line for each thing that is wrong, path first. */
export type Checked = { readonly value: unknown } | { readonly issues: readonly string[] };

export function isSchema(value: unknown): value is AnySchema {
	return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

/**
 * The JSON Schema of what a schema accepts. Throws `invalid_tool` where the schema cannot say it, naming `where`.
 */
export function toJsonSchema(schema: AnySchema, where: string): JsonSchema {
	try {
		const { $schema: _, ...json } = isValibot(schema)
			? valibotToJsonSchema(schema, { target: 'draft-2020-12', typeMode: 'input', overrideAction: withoutCheck })
			: fromStandard(schema);
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

/** Whether leaving a value out is fine: `v.optional(…)`, or any schema that takes `undefined`. */
export function isOptional(schema: AnySchema): boolean {
	if (isValibot(schema)) return ['optional', 'exact_optional', 'nullish', 'undefinedable'].includes(schema.type);
	const result = schema['~standard'].validate(undefined);
	return !(result instanceof Promise) && result.issues === undefined;
}

/** Checks a value against a schema; `path` stands in front of every issue. */
export async function checkWithSchema(schema: AnySchema, value: unknown, path = ''): Promise<Checked> {
	const result = await schema['~standard'].validate(value);
	if (result.issues === undefined) return { value: result.value };
	return { issues: result.issues.map((issue) => issueLine([path, ...toIssuePath(issue)], issue.message)) };
}

const validators = new WeakMap<JsonSchema, (input: unknown) => Checked | Promise<Checked>>();

/** Remembers that inputs described by this JSON Schema are checked by `check`, which may also transform them. */
export function rememberCheck(schema: JsonSchema, check: (input: unknown) => Promise<Checked>): JsonSchema {
	validators.set(schema, check);
	return schema;
}

/**
 * Makes ready to check inputs by a JSON Schema, unless something checks them already. Throws a `SchemaError` for a schema
 * that inputs cannot be checked by.
 */
export function prepareCheck(schema: JsonSchema): (input: unknown) => Checked | Promise<Checked> {
	const check = validators.get(schema) ?? jsonSchemaCheck(schema);
	validators.set(schema, check);
	return check;
}

/**
 * Checks an input against a tool's `inputSchema`: by the schema that it was made from where there is one, else as JSON
 * Schema. A `null` for what may be left out, at any depth, counts as left out: models in strict mode send that.
 */
export async function checkInput(schema: JsonSchema, input: unknown): Promise<Checked> {
	if (isTooDeep(input)) return { issues: [`The arguments are nested more than ${maxLevels} levels deep.`] };
	const check = prepareCheck(schema);
	const checked = await check(input);
	if ('value' in checked || !hasNull(input)) return checked;
	const second = await check(withoutOptionalNulls(schema, input, { root: schema, visits: 0 }));
	return 'value' in second ? second : checked;
}

const outputChecks = new WeakMap<JsonSchema, (output: unknown) => Checked>();

/** Checks what a model or a tool gave, as it stands: unlike in `checkInput`, a `null` is one. */
export async function checkOutput(schema: JsonSchema | AnySchema, output: unknown): Promise<Checked> {
	if (isTooDeep(output)) return { issues: [`nested more than ${maxLevels} levels deep`] };
	return isSchema(schema) ? checkWithSchema(schema, output) : prepareOutputCheck(schema)(output);
}

/** Makes ready to check outputs. Throws a `SchemaError` for a schema that they cannot be checked by. */
export function prepareOutputCheck(schema: JsonSchema): (output: unknown) => Checked {
	const check = outputChecks.get(schema) ?? jsonSchemaCheck(schema);
	outputChecks.set(schema, check);
	return check;
}

/**
 * Named schemas as the `properties` of one. A `$ref` counts from the root, so what one of them refers to inside itself
 * (a recursive schema does) moves to the root's `$defs`.
 */
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

/** Names in a schema's `required`. */
export function getRequired(schema: JsonSchema): readonly string[] {
	return Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
}

/** A schema's `properties`, empty where it has none. */
export function getProperties(schema: JsonSchema): Readonly<Record<string, unknown>> {
	return isRecord(schema.properties) ? schema.properties : {};
}

function isValibot(schema: AnySchema): schema is GenericSchema {
	return schema['~standard'].vendor === 'valibot';
}

/** A check that JSON Schema has no word for is left to the validation: the rest of the schema still describes the input. */
function withoutCheck({ errors, jsonSchema }: OverrideActionContext): ValibotJsonSchema | undefined {
	return errors === undefined ? undefined : jsonSchema;
}

function fromStandard(schema: AnySchema): JsonSchema {
	const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard'];
	if (standard.jsonSchema === undefined) throw new Error(`${standard.vendor} gives no JSON Schema`);
	return standard.jsonSchema.input({ target: 'draft-2020-12' });
}

function jsonSchemaCheck(schema: JsonSchema): (input: unknown) => Checked {
	const compiled = compileSchema(toCurrentDraft(schema));
	return (input) => {
		const issues = findIssues(compiled, input);
		return issues.length === 0 ? { value: input } : { issues };
	};
}

function toIssuePath(issue: StandardSchemaV1.Issue): string[] {
	// The path of ArkType is a list of its own kind, whose `map` adds an index to an empty one.
	return Array.from(issue.path ?? [], (segment) => String(typeof segment === 'object' ? segment.key : segment));
}

function issueLine(path: readonly string[], message: string): string {
	const at = path.filter((segment) => segment !== '').join('.');
	return at === '' ? message : `${at}: ${message}`;
}

/** One way through an input beside its schema. The branches of a recursive schema multiply, so its steps are counted. */
interface Walk {
	readonly root: JsonSchema;
	visits: number;
}
const mostVisits = 10_000;

/** Whether a value that is not deep holds a `null` in an object. */
function hasNull(value: unknown): boolean {
	if (Array.isArray(value)) return value.some((entry) => entry !== null && hasNull(entry));
	return isRecord(value) && Object.values(value).some((entry) => entry === null || hasNull(entry));
}

function withoutOptionalNulls(schema: unknown, input: unknown, walk: Walk): unknown {
	if (!isRecord(schema) || typeof input !== 'object' || input === null || walk.visits++ > mostVisits) return input;
	const within = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
	if (typeof schema.$ref === 'string') within.push(findReferred(schema.$ref, walk.root));
	const trimmed = within.reduce<unknown>((value, branch) => withoutOptionalNulls(branch, value, walk), input);
	if (Array.isArray(trimmed)) {
		const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
		return trimmed.map((item, index) =>
			withoutOptionalNulls(index < first.length ? first[index] : schema.items, item, walk),
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
			withoutOptionalNulls(
				Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties,
				value,
				walk,
			),
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
