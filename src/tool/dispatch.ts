import { findByCall } from './define.ts';
import { failure, type InvokeContext, invoke, type Outcome } from './invoke.ts';
import type { Tool, ToolCall, ToolResult } from './tool.ts';

/**
 * Runs the tool that a call names, by its own name or its provider-safe alias, and gives the result under the call's id
 * (document 000, `dispatch`). A thrown error, an unknown or unavailable tool and a bad argument become `isError: true`
 * with a text that tells the model what to change. It never throws, but for an abort.
 */
export async function dispatch(
	tools: readonly Tool[],
	call: ToolCall,
	context: InvokeContext = {},
): Promise<ToolResult> {
	const outcome = await invokeCall(tools, call, context);
	if (outcome.ok) return { id: call.id, output: outcome.value, isError: false };
	return { id: call.id, output: outcome.error.message, isError: true };
}

async function invokeCall(tools: readonly Tool[], call: ToolCall, context: InvokeContext): Promise<Outcome> {
	const tool = findByCall(tools, call.name);
	if (tool === undefined || !isAvailable(tool, context)) {
		return failure('unknown_tool', `There is no tool named ${call.name}. ${offered(tools, context)}`);
	}
	return invoke(tool, call.input, { ...context, callId: call.id });
}

/** Whether a tool may be used now; an `isAvailable` that throws says no. */
export function isAvailable(tool: Tool, context: InvokeContext): boolean {
	try {
		return tool.isAvailable?.(context) ?? true;
	} catch {
		return false;
	}
}

function offered(tools: readonly Tool[], context: InvokeContext): string {
	const names = tools.filter((tool) => isAvailable(tool, context)).map((tool) => tool.name);
	return names.length === 0 ? 'No tools are available: answer without one.' : `Use one of: ${names.join(', ')}.`;
}
