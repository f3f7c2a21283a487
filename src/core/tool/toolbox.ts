import { toMessageText } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';
import { copyData } from './copy.ts';
import { forAgent } from './define.ts';
import { isAvailable } from './dispatch.ts';
import type { AnyFn } from './fn.ts';
import { createFailure, type InvokeContext, invoke, limitTime, type Outcome, readArguments } from './invoke.ts';
import { toCurrentDraft } from './json-schema/draft.ts';
import { innerSchemas, mapInner } from './json-schema/keywords.ts';
import { providerName } from './provider-name.ts';
import { getProperties, getRequired, type JsonSchema } from './schema.ts';
import type { Note, Tool } from './tool.ts';

/** Tools by name. */
export type Toolbox = Readonly<Record<string, Tool>>;

/** The arguments of a call, parsed. */
export type Args = Readonly<Record<string, unknown>>;

/**
 * A tool in the form of OpenAI's function tools, with `strict` on: it is off only where the tool takes an object with
 * fields of any name, which the strict form has no word for.
 */
export interface ToolSpec {
	readonly type: 'function';
	readonly function: {
		/** A name that providers take: `providerName` of the tool's. */
		readonly name: string;
		readonly description: string;
		readonly strict: boolean;
		readonly parameters: JsonSchema;
	};
}

/**
 * A box of these tools; those that are not available are left out. A box is built at once: a tool that answers later
 * whether it is available is in it, and is asked when it is called.
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
		// Whoever calls the tool waits for it, and sees how it fails.
		if (said instanceof Promise) said.catch(() => {});
		return Boolean(said);
	} catch {
		return false;
	}
}

/** The tool of that name in the box, also by the alias that `spec` shows. */
export function find(name: string, box: Toolbox): Tool | undefined {
	return Object.hasOwn(box, name) ? box[name] : Object.values(box).find((tool) => providerName(tool.name) === name);
}

/** The tool as an OpenAI function, or `undefined` where the box has none of that name. */
export function spec(name: string, box: Toolbox): ToolSpec | undefined {
	const tool = find(name, box);
	return tool === undefined ? undefined : toToolSpec(tool);
}

/** All tools of the box as OpenAI functions. */
export function specs(box: Toolbox): ToolSpec[] {
	return Object.values(box).map(toToolSpec);
}

/** Whether the tool runs alone, after the others of its turn. */
export function isSequential(name: string, box: Toolbox): boolean {
	return find(name, box)?.sequential ?? false;
}

/** Runs a tool of the box. Its required arguments must be there and not empty; nothing is thrown but an abort. */
export async function perform(name: string, args: Args, box: Toolbox, context: InvokeContext = {}): Promise<Outcome> {
	const complete = validateRequired(name, args, box);
	if (!complete.ok) return complete;
	const tool = find(name, box);
	if (tool === undefined || !(await isAvailable(tool, context))) return unknownTool(name, box);
	return invoke(tool, args, context);
}

/** Whether every required argument of the tool is there; the first that is not is the error. */
export function validateRequired(name: string, args: Args, box: Toolbox): Outcome<Args> {
	const tool = find(name, box);
	if (tool === undefined) return unknownTool(name, box);
	for (const key of getRequired(tool.inputSchema)) {
		const value = getArg(args, key);
		if (!value.ok) return value;
	}
	return { ok: true, value: args };
}

/** An argument's value; a missing one, `null` and an empty string are a `missing_argument`. */
export function getArg(args: Args, key: string): Outcome {
	const value = isRecord(args) && Object.hasOwn(args, key) ? args[key] : undefined;
	return value === undefined || value === null || value === '' ? findMissingArgument(key) : { ok: true, value };
}

/** The answer for a required argument that is missing. */
export function findMissingArgument(key: string): Outcome<never> {
	return createFailure('missing_argument', `${key}: missing. Give it a value that is not empty.`);
}

/** Checks and reads the arguments as a call would, then gives them to `use`. */
export async function withArgs<T>(
	name: string,
	args: Args,
	use: (args: Args) => T | Promise<T>,
	box: Toolbox,
): Promise<Outcome<T>> {
	const complete = validateRequired(name, args, box);
	if (!complete.ok) return complete;
	const tool = find(name, box);
	if (tool === undefined) return unknownTool(name, box);
	const read = await limitTime(tool.name, {}, () => readArguments(tool, args));
	if (!read.ok) return read;
	try {
		return { ok: true, value: await use(isRecord(read.value) ? read.value : {}) };
	} catch (error) {
		return createFailure('failed', toMessageText(error));
	}
}

/**
 * What the tool says when it is called; `undefined` for nothing. As in a call, it is told what its `readArgs` makes of
 * the arguments, and says nothing where a required one is missing or they cannot be read. A promise comes only where
 * `readArgs` gives one.
 */
export function onRequest(name: string, args: Args, box: Toolbox): Note | undefined | Promise<Note | undefined> {
	const tool = find(name, box);
	if (tool?.onRequest === undefined || !validateRequired(name, args, box).ok) return undefined;
	const said = (read: unknown): Note | undefined => callQuietly(() => tool.onRequest?.(read));
	const read = callQuietly(() => ({
		value: tool.readArgs === undefined ? copyData(args) : tool.readArgs(copyData(args)),
	}));
	if (read === undefined) return undefined;
	if (!(read.value instanceof Promise)) return said(read.value);
	const inner = async (): Promise<Outcome> => ({ ok: true, value: await read.value });
	return limitTime(tool.name, {}, inner).then(
		(outcome) => (outcome.ok ? said(outcome.value) : undefined),
		() => undefined,
	);
}

/** What the tool says when it is done; `undefined` for nothing. */
export function onResult(name: string, args: Args, result: unknown, box: Toolbox): Note | undefined {
	return callQuietly(() => find(name, box)?.onResult?.(copyData(args), copyData(result)));
}

/** What the tool says when it failed; `'default'` without a hook of its own. */
export function onError(name: string, args: Args, reason: string, box: Toolbox): 'default' | 'ignore' | Note {
	return callQuietly(() => find(name, box)?.onError?.(copyData(args), reason)) ?? 'default';
}

function callQuietly<T>(hook: () => T | undefined): T | undefined {
	try {
		return hook();
	} catch {
		return undefined;
	}
}

function unknownTool(name: string, box: Toolbox): Outcome<never> {
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
 * A schema under OpenAI's rules for `strict`: every object closed, every property required, and one that could be left
 * out takes `null` instead (`dispatch` reads that `null` as left out). A tuple takes no entries beyond its own. An object
 * with fields of any name stays as it is: closed it would take nothing.
 */
function toStrict(schema: JsonSchema, isRoot = false): JsonSchema {
	const mapped = mapInner(schema, (inner) => toStrict(inner));
	if (Array.isArray(schema.prefixItems) && schema.items === undefined) return { ...mapped, items: false };
	if (!saysObject(schema) || (isOpen(schema) && !(isRoot && schema.additionalProperties === undefined))) return mapped;
	const required = new Set(getRequired(schema));
	const properties = Object.entries(getProperties(mapped)).map(([name, property]) => [
		name,
		required.has(name) || !isRecord(property) ? property : nullable(property),
	]);
	return {
		...mapped,
		...(schema.type === undefined && { type: 'object' }),
		properties: Object.fromEntries(properties),
		required: properties.map(([name]) => name),
		additionalProperties: false,
	};
}

function saysObject({ type, properties }: JsonSchema): boolean {
	return [type].flat().includes('object') || properties !== undefined;
}

/** Whether all that an object may hold has names that the schema does not know. */
function isOpen(schema: JsonSchema): boolean {
	return Object.keys(getProperties(schema)).length === 0 && schema.additionalProperties !== false;
}

function hasOpenObject(schema: unknown): boolean {
	if (!isRecord(schema)) return false;
	if (saysObject(schema) && schema.additionalProperties !== false) return true;
	return innerSchemas(schema).some((inner) => hasOpenObject(inner.schema));
}

function nullable(schema: JsonSchema): JsonSchema {
	if (typeof schema.type === 'string' && !('const' in schema)) {
		const options = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
		return { ...schema, type: [schema.type, 'null'], ...options };
	}
	return { anyOf: [schema, { type: 'null' }] };
}
