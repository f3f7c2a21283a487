import type { StandardSchemaV1 } from '@standard-schema/spec';
import { assertKnownFields } from '../ground/check.ts';
import { RunletError, toMessageText } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';
import { type AnyFn, schemaFromFn } from './fn.ts';
import { assertNotTooDeep } from './json-schema/compile.ts';
import { toCurrentDraft } from './json-schema/draft.ts';
import { providerName } from './provider-name.ts';
import {
	type AnySchema,
	checkWithSchema,
	isSchema,
	type JsonSchema,
	prepareCheck,
	rememberCheck,
	toJsonSchema,
} from './schema.ts';
import type { Tool, ToolContext } from './tool.ts';

/** A record for `define`: as `Tool`, but `description` is required and `inputSchema` may be any Standard Schema. */
export type ToolRecord<S extends AnySchema | JsonSchema = AnySchema | JsonSchema> = Omit<
	Tool,
	'description' | 'inputSchema' | 'fn' | 'passInput'
> & { readonly description: string; readonly inputSchema: S } & (
		| { readonly passInput: true; fn?(input: InputOf<S>, context: ToolContext): unknown }
		| { readonly passInput?: false; fn?(...args: unknown[]): unknown }
	);

type InputOf<S> = S extends AnySchema ? StandardSchemaV1.InferOutput<S> : Record<string, unknown>;

/**
 * Checks a tool written as a record and gives the `Tool`. Throws `invalid_tool`, with the field's name in the message
 * and in `data.field`: `name`, `description` and `inputSchema` are required, `manual` is a boolean and, if given at
 * all, not `undefined` or `null`. A field that tools do not have is refused: `needApproval` would leave a person out.
 */
export function define<const S extends AnySchema | JsonSchema>(record: ToolRecord<S>): Tool {
	if (!isRecord(record)) throw createInvalid('tool', 'a record with name, description and inputSchema', record);
	if (typeof record.description !== 'string')
		throw createInvalid('description', 'a text that tells the model when to call it', record.description, record.name);
	if ('manual' in record && typeof record.manual !== 'boolean')
		throw createInvalid('manual', 'true or false', record.manual, record.name);
	return checkRecord(record);
}

/** A tool made from a function with a signature. Overrides win over `meta.tool`, that over the function's own. */
export function fromFn(f: AnyFn, overrides: Partial<Tool> = {}): Tool {
	const { name, description, inputSchema, outputSchema } = schemaFromFn(f);
	const said = overrides.description ?? f.meta.tool?.description ?? description;
	return checkRecord({
		inputSchema,
		...(outputSchema !== undefined && { outputSchema }),
		fn: f,
		...overrides,
		name: overrides.name ?? f.meta.tool?.name ?? name,
		...(said !== undefined && { description: said }),
	});
}

/** Tools as an agent lists them: functions and records mixed, or a toolbox, which is a record of them. */
export type ToolEntries = readonly (AnyFn | Tool)[] | Readonly<Record<string, AnyFn | Tool>>;

/** The entries as `Tool`s, in the same order. Two of one name are `duplicate_tool`, what is no tool is `invalid_tool`. */
export function forAgent(entries: ToolEntries): readonly Tool[] {
	const tools = list(entries).map((entry) => (typeof entry === 'function' ? fromFn(entry) : checkRecord(entry)));
	const seen = new Map<string, string>();
	for (const { name } of tools) {
		const alias = providerName(name);
		const other = seen.get(alias);
		if (other !== undefined) {
			throw new RunletError(
				'duplicate_tool',
				`Two tools are named ${name}${other === name ? '' : ` and ${other}`}. Rename one.`,
				{ name },
			);
		}
		seen.set(alias, name);
	}
	return tools;
}

function list(entries: ToolEntries): readonly (AnyFn | Tool)[] {
	if (Array.isArray(entries)) return [...entries];
	// One tool by itself would be read as a record of its fields.
	if (isRecord(entries) && !('inputSchema' in entries)) return Object.values(entries);
	throw createInvalid('tools', 'a list of tools, or a toolbox', entries);
}

/** The tool of that name, or `undefined`. */
export function findByName(tools: readonly Tool[], name: string): Tool | undefined {
	return tools.find((tool) => tool.name === name);
}

/** The tool that a model means: by its own name, else by the alias that a provider was shown. */
export function findByCall(tools: readonly Tool[], name: string): Tool | undefined {
	return findByName(tools, name) ?? tools.find((tool) => providerName(tool.name) === name);
}

/** Characters of a tool's name. */
const maxName = 1_000;

/** The fields of a tool. */
const fields = Object.keys({
	name: true,
	description: true,
	inputSchema: true,
	outputSchema: true,
	fn: true,
	passInput: true,
	manual: true,
	metadata: true,
	sequential: true,
	isAvailable: true,
	readArgs: true,
	onRequest: true,
	onResult: true,
	onError: true,
	retry: true,
	needsApproval: true,
} satisfies Record<keyof Tool, true>);

const checkedTools = new WeakSet<Tool>();

function checkRecord(record: {
	readonly name: unknown;
	readonly inputSchema: unknown;
	readonly outputSchema?: unknown;
}): Tool {
	if (!isRecord(record))
		throw createInvalid('tool', 'a function made with fn, or a record with name and inputSchema', record);
	if (isKnown(record)) return record;
	const { name, inputSchema, outputSchema, ...rest } = record;
	if (typeof name !== 'string' || name === '') throw createInvalid('name', 'a text', name);
	if (name.length > maxName) throw createInvalid('name', `at most ${maxName} characters`, name);
	assertKnownFields(record, fields, { code: 'invalid_tool', owner: `tool ${name}` });
	const tool: Tool = {
		...rest,
		name,
		inputSchema: toInputSchema(name, inputSchema),
		...(outputSchema !== undefined && { outputSchema: findOutputSchema(name, outputSchema) }),
	};
	if (tool.fn !== undefined && typeof tool.fn !== 'function') throw createInvalid('fn', 'a function', tool.fn, name);
	checkedTools.add(tool);
	return tool;
}

function isKnown(record: object): record is Tool {
	return checkedTools.has(record as Tool);
}

function toInputSchema(name: string, schema: unknown): JsonSchema {
	const expected = 'a JSON Schema or a Standard Schema (valibot, Zod, ArkType) of an object';
	const json = isSchema(schema) ? toJsonSchema(schema, `${name}: inputSchema`) : schema;
	if (!isRecord(json) || !allowsObject(json)) throw createInvalid('inputSchema', expected, schema, name);
	if (isSchema(schema)) return rememberCheck(json, (input) => checkWithSchema(schema, input));
	return isUsable(json, 'inputSchema', name);
}

function findOutputSchema(name: string, schema: unknown): JsonSchema {
	if (isSchema(schema)) return toJsonSchema(schema, `${name}: outputSchema`);
	if (!isRecord(schema)) throw createInvalid('outputSchema', 'a JSON Schema', schema, name);
	return isUsable(schema, 'outputSchema', name);
}

/** A plain JSON Schema in the words of 2020-12. Throws where no input could be checked by it, and says why. */
function isUsable(schema: JsonSchema, field: string, tool: string): JsonSchema {
	try {
		assertNotTooDeep(schema);
		const current = toCurrentDraft(schema);
		prepareCheck(current);
		return current;
	} catch (error) {
		throw new RunletError('invalid_tool', `${field}: ${toMessageText(error)} (tool ${tool}).`, { field });
	}
}

/** Keywords that a schema of an object has, one at least, unless it says nothing at all. */
const objectKeywords = ['type', 'properties', 'required', 'additionalProperties', '$ref', 'anyOf', 'oneOf', 'allOf'];

function allowsObject(schema: JsonSchema): boolean {
	const { type } = schema;
	if (type !== undefined) return type === 'object' || (Array.isArray(type) && type.includes('object'));
	const keywords = Object.keys(schema);
	return keywords.length === 0 || objectKeywords.some((keyword) => keywords.includes(keyword));
}

function createInvalid(field: string, expected: string, got: unknown, tool?: unknown): RunletError {
	const found = got === undefined ? 'nothing' : got === null ? 'null' : `a ${typeof got}`;
	const owner = typeof tool === 'string' ? ` (tool ${tool})` : '';
	return new RunletError('invalid_tool', `${field}: expected ${expected}, got ${found}${owner}.`, { field });
}
