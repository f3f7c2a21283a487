import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RunletError } from '../errors.ts';
import { type AnyFn, schemaFromFn } from './fn.ts';
import { providerName } from './provider-name.ts';
import {
	type AnySchema,
	checkWithSchema,
	isRecord,
	isSchema,
	type JsonSchema,
	rememberCheck,
	toJsonSchema,
} from './schema.ts';

/** A line for the reader while a tool works: a text, or a label and a detail. */
export type Note = string | readonly [label: string, detail: string];

/** What a tool knows about the call that it serves. */
export interface ToolContext {
	/** The call's id: the same after a crash, so a fit idempotency key for what the tool does outside. */
	readonly callId: string;
	readonly sessionId?: string | undefined;
	readonly runId?: string | undefined;
	/** Aborts when the run is cancelled or the tool's time is over. */
	readonly signal: AbortSignal;
	/** What the harness says about the turn: attachments, sender, transport. The model cannot write it. */
	readonly skillContext: Readonly<Record<string, unknown>>;
	/** Shows a note to whoever follows the run. Never throws. */
	readonly emit: (note: Note) => void;
}

/**
 * A tool that a model may call (documents 000, 002 and 004). All of it is data but for its functions, so a tool
 * survives JSON by `toData` and gets its functions back by `attach`.
 */
export interface Tool {
	/** Unique among the tools of an agent. Any text: a provider sees `providerName(name)`. */
	readonly name: string;
	readonly description?: string | undefined;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema | undefined;
	/** Called with the arguments in the order of the parameters, or, with `passInput`, as `(input, context)`. */
	fn?(...args: unknown[]): unknown;
	readonly passInput?: boolean | undefined;
	/** Never run by the loop: the run stops as `awaiting_tools` until somebody submits the result. */
	readonly manual?: boolean | undefined;
	readonly metadata?: Readonly<Record<string, unknown>> | undefined;
	/** Runs alone, after all calls of the turn that may run together. */
	readonly sequential?: boolean | undefined;
	/** A tool that is not available is neither advertised nor run. */
	isAvailable?(context: Partial<ToolContext>): boolean;
	/** Turns checked arguments into what the handler and the notes get; what it throws is an invalid argument. */
	readArgs?(args: Record<string, unknown>): unknown;
	onRequest?(args: unknown): Note | undefined;
	onResult?(args: unknown, result: unknown): Note | undefined;
	onError?(args: unknown, reason: string): 'default' | 'ignore' | Note;
	/** Whether it may run again when a crash hid its outcome. Missing means `never`. */
	readonly retry?: 'safe' | 'never' | undefined;
	/** Not run by the loop: the run stops as for a manual tool, until a person has decided. */
	needsApproval?: boolean | ((args: Record<string, unknown>) => boolean) | undefined;
}

/** A model's request to run a tool. `input` is the parsed arguments, or the raw text where that was no JSON. */
export interface ToolCall {
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** The answer to a `ToolCall`. `isError` tells the model that `output` says what went wrong. */
export interface ToolResult {
	readonly id: string;
	readonly output: unknown;
	readonly isError: boolean;
}

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
 * Checks a tool written as a record and gives the `Tool` (document 002, `new/1`). Throws `invalid_tool`, with the
 * field's name in the message and in `data.field`: `name`, `description` and `inputSchema` are required, `manual` is a
 * boolean and, if given at all, not `undefined` or `null`.
 */
export function define<const S extends AnySchema | JsonSchema>(record: ToolRecord<S>): Tool {
	if (!isRecord(record)) throw invalid('tool', 'a record with name, description and inputSchema', record);
	if (typeof record.description !== 'string')
		throw invalid('description', 'a text that tells the model when to call it', record.description);
	if ('manual' in record && typeof record.manual !== 'boolean') throw invalid('manual', 'true or false', record.manual);
	return checked(record);
}

/** A tool made from a function with a signature (document 000, `from-fn`). Overrides win over `meta.tool`, that over the function's own. */
export function fromFn(f: AnyFn, overrides: Partial<Tool> = {}): Tool {
	const { name, description, inputSchema, outputSchema } = schemaFromFn(f);
	const said = overrides.description ?? f.meta.tool?.description ?? description;
	return checked({
		inputSchema,
		...(outputSchema !== undefined && { outputSchema }),
		fn: f,
		...overrides,
		name: overrides.name ?? f.meta.tool?.name ?? name,
		...(said !== undefined && { description: said }),
	});
}

/** Tools as an agent lists them, functions and records mixed, as `Tool`s in the same order. Two of one name are `duplicate_tool`. */
export function forAgent(entries: readonly (AnyFn | Tool)[]): readonly Tool[] {
	const tools = entries.map((entry) => (typeof entry === 'function' ? fromFn(entry) : checked(entry)));
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

/** The tool of that name, or `undefined` (document 000, `find-by-name`). */
export function findByName(tools: readonly Tool[], name: string): Tool | undefined {
	return tools.find((tool) => tool.name === name);
}

/** The tool that a model means: by its own name, else by the alias that a provider was shown. */
export function findByCall(tools: readonly Tool[], name: string): Tool | undefined {
	return findByName(tools, name) ?? tools.find((tool) => providerName(tool.name) === name);
}

const checkedTools = new WeakSet<Tool>();

function checked(record: { readonly name: unknown; readonly inputSchema: unknown }): Tool {
	if (isKnown(record)) return record;
	const { name, inputSchema, ...rest } = record;
	if (typeof name !== 'string' || name === '') throw invalid('name', 'a text', name);
	const tool: Tool = { ...rest, name, inputSchema: inputSchemaOf(name, inputSchema) };
	if (tool.fn !== undefined && typeof tool.fn !== 'function') throw invalid('fn', 'a function', tool.fn);
	checkedTools.add(tool);
	return tool;
}

function isKnown(record: object): record is Tool {
	return checkedTools.has(record as Tool);
}

function inputSchemaOf(name: string, schema: unknown): JsonSchema {
	if (isSchema(schema))
		return rememberCheck(toJsonSchema(schema, `${name}: inputSchema`), (input) => checkWithSchema(schema, input));
	if (!isRecord(schema))
		throw invalid('inputSchema', 'a JSON Schema or a Standard Schema (valibot, Zod, ArkType)', schema);
	return schema;
}

function invalid(field: string, expected: string, got: unknown): RunletError {
	const found = got === undefined ? 'nothing' : got === null ? 'null' : `a ${typeof got}`;
	return new RunletError('invalid_tool', `${field}: expected ${expected}, got ${found}.`, { field });
}
