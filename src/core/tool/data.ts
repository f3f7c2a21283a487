import * as v from 'valibot';
import { check } from '../base/check.ts';
import { RunletError } from '../base/errors.ts';
import { forAgent } from './define.ts';
import type { Tool } from './tool.ts';

const toolData = v.strictObject({
	name: v.pipe(v.string(), v.nonEmpty()),
	description: v.optional(v.string()),
	inputSchema: v.record(v.string(), v.unknown()),
	outputSchema: v.optional(v.record(v.string(), v.unknown())),
	passInput: v.optional(v.boolean()),
	manual: v.optional(v.boolean()),
	metadata: v.optional(v.record(v.string(), v.unknown())),
	sequential: v.optional(v.boolean()),
	retry: v.optional(v.picklist(['safe', 'never'])),
	timeoutMs: v.optional(v.pipe(v.number(), v.minValue(1))),
	readsOutside: v.optional(v.boolean()),
	provider: v.optional(
		v.strictObject({
			strict: v.optional(v.boolean()),
			deferLoading: v.optional(v.boolean()),
			allowedCallers: v.optional(v.array(v.string())),
		}),
	),
	needsApproval: v.optional(v.boolean()),
});

/** A tool without its functions: plain data that survives JSON. */
export type ToolData = v.InferOutput<typeof toolData>;

/** The functions for `attach`: the handler of a tool alone, or a record of functions. */
export type Handler =
	| Tool['fn']
	| Pick<Tool, 'fn' | 'isAvailable' | 'readArgs' | 'onRequest' | 'onResult' | 'onError' | 'onAnswer' | 'needsApproval'>;

/** Returns the tools as data, without their functions. */
export function toData(tools: readonly Tool[]): ToolData[] {
	return tools.map((tool) => {
		const kept = Object.entries(tool).filter(
			([key, value]) => Object.hasOwn(toolData.entries, key) && value !== undefined && typeof value !== 'function',
		);
		return v.parse(toolData, Object.fromEntries(kept));
	});
}

/**
 * Makes tools from data and attaches their functions by name. A tool without a handler is like a manual tool. Throws
 * `invalid_tool` with the name of the field if the data is not valid, or if a handler has no tool.
 */
export function attach(data: unknown, handlers: Readonly<Record<string, Handler>> = {}): readonly Tool[] {
	const tools = check(v.array(toolData), data, 'data', 'invalid_tool');
	const names = tools.map((tool) => tool.name);
	const stray = Object.keys(handlers).find((name) => !names.includes(name));
	if (stray !== undefined) {
		throw new RunletError(
			'invalid_tool',
			`${stray}: a handler for a tool that is not in the data. Known: ${names.join(', ')}.`,
			{ field: stray },
		);
	}
	return forAgent(
		tools.map((tool) => {
			const handler = Object.hasOwn(handlers, tool.name) ? handlers[tool.name] : undefined;
			return typeof handler === 'function' ? { ...tool, fn: handler } : { ...tool, ...handler };
		}),
	);
}
