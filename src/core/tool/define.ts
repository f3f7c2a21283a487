import { hashText } from '../base/bytes.ts';
import { assertKnownFields } from '../base/check.ts';
import { blameCaller, RunletError, toMessageText } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type AnyFn, schemaFromFn } from './fn.ts';
import { assertNotTooDeep } from './json-schema/compile.ts';
import type { InputOf } from './json-schema/infer.ts';
import { toCurrentDraft } from './json-schema/keywords.ts';
import type { AskUser, Halt } from './results.ts';
import {
	type AnySchema,
	checkWithSchema,
	isSchema,
	type JsonSchema,
	prepareCheck,
	rememberCheck,
	toJsonSchema,
} from './schema.ts';
import type { AnsweredCall, Note, Tool, ToolContext } from './tool.ts';

/**
 * A record for `define`: a `Tool` with a required `description`. Its `inputSchema` can be any Standard Schema.
 * The handler and the hooks get the value that the schema describes, or the result of `readArgs` (`A`) if there is a
 * `readArgs`. `onResult` also gets the value that the handler returns.
 */
export type ToolRecord<S extends AnySchema | JsonSchema = AnySchema | JsonSchema, A = InputOf<S>, R = unknown> = Omit<
	Tool,
	'description' | 'inputSchema' | 'fn' | 'passInput' | Hook
> & {
	readonly description: string;
	readonly inputSchema: S;
	readArgs?(args: InputOf<S>): A | Promise<A>;
	targets?(args: NoInfer<A>): readonly string[];
	needsApproval?: boolean | ((args: NoInfer<A>, context: Partial<ToolContext>) => boolean | Promise<boolean>);
	preview?(args: NoInfer<A>, context: Partial<ToolContext>): string | undefined | Promise<string | undefined>;
	onRequest?(args: NoInfer<A>): Note | undefined;
	onResult?(args: NoInfer<A>, result: Exclude<Awaited<NoInfer<R>>, AskUser | Halt>): Note | undefined;
	onError?(args: NoInfer<A>, reason: string): ReturnType<NonNullable<Tool['onError']>>;
	onAnswer?(answer: string, about: AnsweredCall & { readonly args: NoInfer<A> }, context: ToolContext): unknown;
} & (
		| { readonly passInput: true; fn?(input: NoInfer<A>, context: ToolContext): R }
		| { readonly passInput?: false; fn?(...args: unknown[]): R }
	);

type Hook = 'readArgs' | 'targets' | 'needsApproval' | 'preview' | 'onRequest' | 'onResult' | 'onError' | 'onAnswer';

/**
 * Makes a tool from a record. `name`, `description` and `inputSchema` are required. `manual`, if present, must be a
 * boolean: `undefined` and `null` are refused. An unknown field is refused too, because a misspelled `needsApproval`
 * would skip the approval. Throws `invalid_tool` with the name of the field in the message and in `data.field`.
 */
export function define<const S extends AnySchema | JsonSchema, A = InputOf<S>, R = unknown>(
	record: ToolRecord<S, A, R>,
): Tool {
	return blameCaller(define, () => checkDefinition(record));
}

function checkDefinition(record: {
	readonly name: unknown;
	readonly description: unknown;
	readonly inputSchema: unknown;
}): Tool {
	if (!isRecord(record)) throw createInvalid('tool', 'a record with name, description and inputSchema', record);
	// Check this first, because a misspelt required field would be reported as missing.
	assertKnownFields(record, fields, { code: 'invalid_tool', owner: `tool ${record.name}` });
	if (typeof record.description !== 'string')
		throw createInvalid('description', 'a text that tells the model when to call it', record.description, record.name);
	if ('manual' in record && typeof record.manual !== 'boolean')
		throw createInvalid('manual', 'true or false', record.manual, record.name);
	return checkRecord(record);
}

/**
 * Makes a tool from a function with a signature. A field is taken from `overrides`, else from `meta.tool`, else from
 * the rest of `meta`.
 */
export function fromFn(f: AnyFn, overrides: Partial<Tool> = {}): Tool {
	const { name, description, inputSchema, outputSchema } = schemaFromFn(f);
	const described = overrides.description ?? f.meta.tool?.description ?? description;
	return checkRecord({
		inputSchema,
		...(outputSchema !== undefined && { outputSchema }),
		fn: f,
		...overrides,
		name: overrides.name ?? f.meta.tool?.name ?? name,
		...(described !== undefined && { description: described }),
	});
}

/** The tools of an agent: functions and records in one list, or a toolbox, which is a record of tools. */
export type ToolEntries = readonly (AnyFn | Tool)[] | Readonly<Record<string, AnyFn | Tool>>;

/**
 * Converts the entries to `Tool`s in the same order. Throws `duplicate_tool` if two tools have the same name,
 * and `invalid_tool` if an entry is not a tool.
 */
export function forAgent(entries: ToolEntries): readonly Tool[] {
	const tools = listEntries(entries).map((entry) => (typeof entry === 'function' ? fromFn(entry) : checkRecord(entry)));
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

function listEntries(entries: ToolEntries): readonly (AnyFn | Tool)[] {
	if (Array.isArray(entries)) return [...entries];
	// Without this check, a single tool would be read as a toolbox whose tools are its fields.
	if (isRecord(entries) && !('inputSchema' in entries)) return Object.values(entries);
	throw createInvalid('tools', 'a list of tools, or a toolbox', entries);
}

export function findByName(tools: readonly Tool[], name: string): Tool | undefined {
	return tools.find((tool) => tool.name === name);
}

/** Finds a tool by its own name, or by the alias that the provider has for it. */
export function findByCall(tools: readonly Tool[], name: string): Tool | undefined {
	return findByName(tools, name) ?? tools.find((tool) => providerName(tool.name) === name);
}

/** The maximum length of a tool's name in characters. */
const maxName = 1_000;

/** The expected form of a field, in words and as a check. */
type Form = readonly [expected: string, fits: (value: unknown) => boolean];

const flag: Form = ['true or false', (value) => typeof value === 'boolean'];
const hook: Form = ['a function', (value) => typeof value === 'function'];

const forms = {
	description: ['a text that tells the model when to call it', (value) => typeof value === 'string'],
	fn: hook,
	passInput: flag,
	manual: flag,
	metadata: ['a record', isRecord],
	sequential: flag,
	isAvailable: hook,
	readArgs: hook,
	onRequest: hook,
	onResult: hook,
	onError: hook,
	onAnswer: hook,
	retry: ["'safe' or 'never'", (value) => value === 'safe' || value === 'never'],
	readOnly: flag,
	timeoutMs: ['a number of milliseconds from 1 on', (value) => typeof value === 'number' && value >= 1],
	reads: ["'outside', 'private' or a list of them", (value) => [value].flat().every(isLabel)],
	writes: ["'outside' or 'address'", (value) => value === 'outside' || value === 'address'],
	targets: hook,
	provider: ['{ strict?, deferLoading?, allowedCallers? }', isForProvider],
	preview: hook,
	needsApproval: ['true, false or a function', (value) => flag[1](value) || hook[1](value)],
} satisfies Record<Exclude<keyof Tool, 'name' | 'inputSchema' | 'outputSchema'>, Form>;

function isLabel(value: unknown): boolean {
	return value === 'outside' || value === 'private';
}

function isForProvider(value: unknown): boolean {
	if (!isRecord(value)) return false;
	const { strict = false, deferLoading = false, allowedCallers = [], ...others } = value;
	const areTexts = Array.isArray(allowedCallers) && allowedCallers.every((one) => typeof one === 'string');
	return flag[1](strict) && flag[1](deferLoading) && areTexts && Object.keys(others).length === 0;
}

const fields = ['name', 'inputSchema', 'outputSchema', ...Object.keys(forms)];

function assertForms(record: Readonly<Record<string, unknown>>, name: string): void {
	assertKnownFields(record, fields, { code: 'invalid_tool', owner: `tool ${name}` });
	for (const [field, [expected, fits]] of Object.entries(forms)) {
		const value = record[field];
		if (value !== undefined && !fits(value)) throw createInvalid(field, expected, value, name);
	}
}

const checkedTools = new WeakSet<Tool>();

function checkRecord(record: {
	readonly name: unknown;
	readonly inputSchema: unknown;
	readonly outputSchema?: unknown;
}): Tool {
	if (!isRecord(record))
		throw createInvalid('tool', 'a function made with fn, or a record with name and inputSchema', record);
	if (isChecked(record)) return record;
	const { name, inputSchema, outputSchema, ...rest } = record;
	if (typeof name !== 'string' || name === '') throw createInvalid('name', 'a text', name);
	if (name.length > maxName) throw createInvalid('name', `at most ${maxName} characters`, name);
	assertForms(record, name);
	const tool: Tool = {
		...rest,
		name,
		inputSchema: toInputSchema(name, inputSchema),
		...(outputSchema !== undefined && { outputSchema: toOutputSchema(name, outputSchema) }),
	};
	checkedTools.add(tool);
	return tool;
}

function isChecked(record: object): record is Tool {
	return checkedTools.has(record as Tool);
}

function toInputSchema(name: string, schema: unknown): JsonSchema {
	const expected = 'a JSON Schema or a Standard Schema (valibot, Zod, ArkType) of an object';
	const json = isSchema(schema) ? toJsonSchema(schema, `${name}: inputSchema`) : schema;
	if (!isRecord(json) || !allowsObject(json)) throw createInvalid('inputSchema', expected, schema, name);
	if (isSchema(schema)) return rememberCheck(json, (input) => checkWithSchema(schema, input));
	return toUsableSchema(json, 'inputSchema', name);
}

function toOutputSchema(name: string, schema: unknown): JsonSchema {
	if (isSchema(schema)) return toJsonSchema(schema, `${name}: outputSchema`);
	if (!isRecord(schema)) throw createInvalid('outputSchema', 'a JSON Schema', schema, name);
	return toUsableSchema(schema, 'outputSchema', name);
}

/** Converts a plain JSON Schema to 2020-12. Throws `invalid_tool` with the reason if the schema cannot check inputs. */
function toUsableSchema(schema: JsonSchema, field: string, tool: string): JsonSchema {
	try {
		assertNotTooDeep(schema);
		const current = toCurrentDraft(schema);
		prepareCheck(current);
		return current;
	} catch (error) {
		throw new RunletError('invalid_tool', `${field}: ${toMessageText(error)} (tool ${tool}).`, { field });
	}
}

/** A schema that describes an object has at least one of these keywords, or has no keywords at all. */
const objectKeywords = ['type', 'properties', 'required', 'additionalProperties', '$ref', 'anyOf', 'oneOf', 'allOf'];

function allowsObject(schema: JsonSchema): boolean {
	const { type } = schema;
	if (type !== undefined) return type === 'object' || (Array.isArray(type) && type.includes('object'));
	const keywords = Object.keys(schema);
	return keywords.length === 0 || objectKeywords.some((keyword) => keywords.includes(keyword));
}

function createInvalid(field: string, expected: string, got: unknown, tool?: unknown): RunletError {
	const found = describeFound(got);
	const owner = typeof tool === 'string' ? ` (tool ${tool})` : '';
	return new RunletError('invalid_tool', `${field}: expected ${expected}, got ${found}${owner}.`, { field });
}

function describeFound(got: unknown): string {
	if (got === undefined) return 'nothing';
	if (got === null) return 'null';
	if (Array.isArray(got)) return 'a list';
	if (typeof got !== 'object') return `a ${typeof got}`;
	const names = Object.keys(got);
	return names.length === 0 ? 'an object without fields' : `an object with ${names.slice(0, 5).join(', ')}`;
}

const valid = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Returns the tool name that a provider gets. A valid name (`^[a-zA-Z0-9_-]{1,64}$`) stays unchanged. Any other name
 * becomes a readable alias with a hash of the whole name. The alias is the same in every process. A call with the alias
 * finds the tool.
 */
export function providerName(name: string): string {
	if (valid.test(name)) return name;
	const readable = name.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/^_+/, '');
	let end = readable.length;
	while (readable[end - 1] === '_') end--;
	return `${readable.slice(0, Math.min(end, 48))}_${hashText(name)}`.replace(/^_/, 't_');
}
