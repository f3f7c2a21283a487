import type { providers } from '../core/index.ts';

let calls = 0;

/** A turn of a script in which the model calls a tool. */
export function callTool(name: string, input: unknown = {}): providers.ScriptedReply {
	return callTools([name, input]);
}

/** A turn of a script in which the model calls several tools. */
export function callTools(...list: readonly (readonly [name: string, input: unknown])[]): providers.ScriptedReply {
	return { toolCalls: list.map(([name, input]) => ({ id: `call_${++calls}`, name, input })), stopReason: 'tool_use' };
}
