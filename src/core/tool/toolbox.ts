import { toMessageText } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { isAvailable } from './call.ts';
import { forAgent, providerName } from './define.ts';
import type { AnyFn } from './fn.ts';
import {
	checkArguments,
	createFailure,
	type InvokeContext,
	invoke,
	limitTime,
	type Outcome,
	readArguments,
} from './invoke.ts';
import { innerSchemas, mapInner, toCurrentDraft } from './json-schema/keywords.ts';
import { checkInput, getProperties, getRequired, type JsonSchema } from './schema.ts';
import { copyData } from './state.ts';
import type { Note, Tool } from './tool.ts';

/** Tools by name. */
export type Toolbox = Readonly<Record<string, Tool>>;

/** The parsed arguments of a call. */
export type Args = Readonly<Record<string, unknown>>;

/**
 * A tool in the format of OpenAI's function tools. `strict` is on, unless an object of the arguments can have fields of
 * any name. Strict mode cannot express such an object.
 */
export interface ToolSpec {
	readonly type: 'function';
	readonly function: {
		/** The name that providers see: `providerName` of the tool's name. */
		readonly name: string;
		readonly description: string;
		readonly strict: boolean;
		readonly parameters: JsonSchema;
	};
}

/**
 * Makes a toolbox of the available tools. A tool whose `isAvailable` returns a promise is included, and its
 * promise is awaited when the tool is called.
 */
export function build(tools: readonly (AnyFn | Tool)[] | Toolbox | undefined, context: InvokeContext = {}): Toolbox {
	return Object.fromEntries(
		forAgent(tools ?? [])
			.filter((tool) => mayBeAvailable(tool, context))
			.map((tool) => [tool.name, tool]),
	);
}

function mayBeAvailable(tool: Tool, context: InvokeContext): boolean {
	try {
		const said = tool.isAvailable === undefined || tool.isAvailable(context);
		// The promise is awaited when the tool is called. A failure is reported only then.
		if (said instanceof Promise) said.catch(() => {});
		return Boolean(said);
	} catch {
		return false;
	}
}

/** Finds a tool of the box by its name, or by the alias that `spec` returns. */
export function find(name: string, box: Toolbox): Tool | undefined {
	return Object.hasOwn(box, name) ? box[name] : Object.values(box).find((tool) => providerName(tool.name) === name);
}

/** Returns a tool of the box as an OpenAI function. */
export function spec(name: string, box: Toolbox): ToolSpec | undefined {
	const tool = find(name, box);
	return tool === undefined ? undefined : toToolSpec(tool);
}

/** Returns all tools of the box as OpenAI functions. */
export function specs(box: Toolbox): ToolSpec[] {
	return Object.values(box).map(toToolSpec);
}

/** Whether the tool runs alone, after the other calls of its turn. */
export function isSequential(name: string, box: Toolbox): boolean {
	return find(name, box)?.sequential ?? false;
}

/** Runs a tool of the box. Its required arguments must be present and not empty. Throws only if the call is aborted. */
export async function perform(name: string, args: Args, box: Toolbox, context: InvokeContext = {}): Promise<Outcome> {
	const complete = validateRequired(name, args, box);
	if (!complete.ok) return complete;
	const tool = find(name, box);
	if (tool === undefined || !(await isAvailable(tool, context))) return createUnknownTool(name, box);
	return invoke(tool, args, context);
}

/** Checks that every required argument of the tool is present. The error names the first missing argument. */
export function validateRequired(name: string, args: Args, box: Toolbox): Outcome<Args> {
	const tool = find(name, box);
	if (tool === undefined) return createUnknownTool(name, box);
	for (const key of getRequired(tool.inputSchema)) {
		const value = getArg(args, key);
		if (!value.ok) return value;
	}
	return { ok: true, value: args };
}

/** Returns the value of an argument, or `missing_argument` if it is missing, `null` or an empty string. */
export function getArg(args: Args, key: string): Outcome {
	const value = isRecord(args) && Object.hasOwn(args, key) ? args[key] : undefined;
	return value === undefined || value === null || value === '' ? missingArgument(key) : { ok: true, value };
}

/** Creates the failure for a missing argument. */
export function missingArgument(key: string): Outcome<never> {
	return createFailure('missing_argument', `${key}: missing. Give it a value that is not empty.`);
}

/** Checks and reads the arguments as in a call, then passes them to `use`. */
export async function withArgs<T>(
	name: string,
	args: Args,
	use: (args: Args) => T | Promise<T>,
	box: Toolbox,
): Promise<Outcome<T>> {
	const complete = validateRequired(name, args, box);
	if (!complete.ok) return complete;
	const tool = find(name, box);
	if (tool === undefined) return createUnknownTool(name, box);
	const read = await limitTime(tool.name, {}, () => readArguments(tool, args));
	if (!read.ok) return read;
	try {
		return { ok: true, value: await use(isRecord(read.value) ? read.value : {}) };
	} catch (error) {
		return createFailure('failed', toMessageText(error));
	}
}

/**
 * Returns the tool's note for a request, or `undefined`. As in a call, the hook gets the arguments with the schema's
 * defaults, or the result of `readArgs`. There is no note if the arguments do not fit the schema or cannot be read.
 * Returns a promise only if the schema or `readArgs` is asynchronous.
 */
export function onRequest(name: string, args: Args, box: Toolbox): Note | undefined | Promise<Note | undefined> {
	const tool = find(name, box);
	if (tool?.onRequest === undefined || !validateRequired(name, args, box).ok) return undefined;
	const say = (value: unknown): Note | undefined => callQuietly(() => tool.onRequest?.(value));
	const read = callQuietly(() => ({ outcome: checkArguments(tool, copyData(args)) }));
	if (!(read?.outcome instanceof Promise)) return read?.outcome?.ok === true ? say(read.outcome.value) : undefined;
	const { outcome } = read;
	return limitTime(tool.name, {}, () => outcome).then(
		(ready) => (ready.ok ? say(ready.value) : undefined),
		() => undefined,
	);
}

/** Returns the tool's note for a result, or `undefined`. The hook gets the arguments with the defaults of the schema. */
export function onResult(name: string, args: Args, result: unknown, box: Toolbox): Note | undefined {
	return callQuietly(() => {
		const tool = find(name, box);
		return tool?.onResult?.(fillDefaults(tool, args), copyData(result));
	});
}

/** Returns the tool's note for a failure. Without an `onError` hook the note is `'default'`. */
export function onError(name: string, args: Args, reason: string, box: Toolbox): 'default' | 'ignore' | Note {
	const said = callQuietly(() => {
		const tool = find(name, box);
		return tool?.onError?.(fillDefaults(tool, args), reason);
	});
	return said ?? 'default';
}

/** Adds the schema's defaults to arguments that fit the schema. Adds nothing if the schema is asynchronous. */
function fillDefaults(tool: Tool, args: Args): unknown {
	const checked = checkInput(tool.inputSchema, copyData(args));
	if (checked instanceof Promise) checked.catch(() => {});
	return 'value' in checked ? checked.value : copyData(args);
}

function callQuietly<T>(hook: () => T | undefined): T | undefined {
	try {
		return hook();
	} catch {
		return undefined;
	}
}

function createUnknownTool(name: string, box: Toolbox): Outcome<never> {
	return createFailure('unknown_tool', `There is no tool named ${name}. Use one of: ${Object.keys(box).join(', ')}.`);
}

function toToolSpec(tool: Tool): ToolSpec {
	const parameters = toStrict(toCurrentDraft(tool.inputSchema), true);
	return {
		type: 'function',
		function: {
			name: providerName(tool.name),
			description: tool.description ?? '',
			strict: !hasOpenObject(parameters),
			parameters,
		},
	};
}

/**
 * Converts a schema to OpenAI's strict mode. Every object is closed, and every property is required. An optional
 * property also accepts `null`, which `dispatch` treats as left out. A tuple accepts no further entries. An object with
 * fields of any name stays open, because a closed object would accept no field.
 */
function toStrict(schema: JsonSchema, isRoot = false): JsonSchema {
	const mapped = mapInner(schema, (inner) => toStrict(inner));
	if (Array.isArray(schema.prefixItems) && schema.items === undefined) return { ...mapped, items: false };
	if (!describesObject(schema) || (isOpen(schema) && !(isRoot && schema.additionalProperties === undefined)))
		return mapped;
	const required = new Set(getRequired(schema));
	const properties = Object.entries(getProperties(mapped)).map(([name, property]) => [
		name,
		required.has(name) || !isRecord(property) ? property : allowNull(property),
	]);
	return {
		...mapped,
		...(schema.type === undefined && { type: 'object' }),
		properties: Object.fromEntries(properties),
		required: properties.map(([name]) => name),
		additionalProperties: false,
	};
}

function describesObject({ type, properties }: JsonSchema): boolean {
	return [type].flat().includes('object') || properties !== undefined;
}

/** Whether the schema names no fields of the object and allows any fields. */
function isOpen(schema: JsonSchema): boolean {
	return Object.keys(getProperties(schema)).length === 0 && schema.additionalProperties !== false;
}

function hasOpenObject(schema: unknown): boolean {
	if (!isRecord(schema)) return false;
	if (describesObject(schema) && schema.additionalProperties !== false) return true;
	return innerSchemas(schema).some((inner) => hasOpenObject(inner.schema));
}

function allowNull(schema: JsonSchema): JsonSchema {
	if (typeof schema.type === 'string' && !('const' in schema)) {
		const options = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
		return { ...schema, type: [schema.type, 'null'], ...options };
	}
	return { anyOf: [schema, { type: 'null' }] };
}
