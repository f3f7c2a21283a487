import { toMessageText } from '../base/errors.ts';
import { isTooDeep } from '../base/json.ts';
import { flattenParts } from '../base/part.ts';
import { findByCall } from './define.ts';
import { createFailure, type InvokeContext, invoke, limitTime, type Outcome } from './invoke.ts';
import { isParts } from './results.ts';
import type { Tool, ToolCall, ToolResult } from './tool.ts';

/**
 * Runs the tool that a call names by its name or its provider-safe alias. The result has the id of the call. For a
 * thrown error, an unknown or unavailable tool, or an invalid argument, the result has `isError: true` and a text that
 * tells the model what to change. Throws only if the call is aborted.
 */
export async function dispatch(
	tools: readonly Tool[],
	call: ToolCall,
	context: InvokeContext = {},
): Promise<ToolResult> {
	const outcome = await invokeCall(tools, call, context);
	if (outcome.ok) return createResult(call.id, outcome.value);
	return { id: call.id, output: outcome.error.message, isError: true };
}

/** Creates the result of a successful call. Its output is the tool's return value. Parts are joined to one text. */
export function createResult(id: string, value: unknown): ToolResult {
	if (!isParts(value)) return { id, output: value, isError: false };
	return { id, output: flattenParts(value.parts), isError: false, parts: value.parts };
}

async function invokeCall(tools: readonly Tool[], call: ToolCall, context: InvokeContext): Promise<Outcome> {
	const tool = findByCall(tools, call.name);
	if (tool === undefined || !(await isAvailable(tool, context))) {
		// The message lists the other tools. `tool` is already known to be unavailable.
		const others = tools.filter((other) => other !== tool);
		return createFailure(
			'unknown_tool',
			`There is no tool named ${call.name.slice(0, 200)}. ${await listOffered(others, context)}`,
		);
	}
	return invoke(tool, call.input, { ...context, callId: call.id });
}

/** Whether a tool can be used now. Returns false if `isAvailable` throws or takes too long. */
export async function isAvailable(tool: Tool, context: InvokeContext): Promise<boolean> {
	if (tool.isAvailable === undefined) return true;
	const { timeoutMs: _, answer: __, ...shown } = context;
	const said = await limitTime(tool.name, context, async () => {
		try {
			return { ok: true, value: await tool.isAvailable?.(shown) };
		} catch (error) {
			return createFailure('failed', toMessageText(error));
		}
	});
	return said.ok && Boolean(said.value);
}

export async function filterAvailable(tools: readonly Tool[], context: InvokeContext): Promise<readonly Tool[]> {
	if (tools.every((tool) => tool.isAvailable === undefined)) return tools;
	const may = await Promise.all(tools.map((tool) => isAvailable(tool, context)));
	return tools.filter((_, at) => may[at]);
}

async function listOffered(tools: readonly Tool[], context: InvokeContext): Promise<string> {
	const names = (await filterAvailable(tools, context)).map((tool) => tool.name);
	return names.length === 0 ? 'No tools are available: answer without one.' : `Use one of: ${names.join(', ')}.`;
}

/** Parses a call's arguments from JSON. Empty text becomes `{}`. Invalid JSON stays text, which is reported later. */
export function parseToolInput(json: string): unknown {
	if (json.trim() === '') return {};
	try {
		const input: unknown = JSON.parse(json);
		return isTooDeep(input) ? json : input;
	} catch {
		return json;
	}
}

/** Converts the arguments of a call back to text. Arguments that were not valid JSON are already text. */
export function toInputText(input: unknown): string {
	if (typeof input === 'string') return input;
	try {
		return JSON.stringify(input ?? {}) ?? '{}';
	} catch {
		return 'The arguments were nested too deep to be kept.';
	}
}
