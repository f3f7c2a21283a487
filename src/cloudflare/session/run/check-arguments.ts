import { prepareSingleCalls } from '../../../core/chat/single-call.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { assertArguments } from '../../agent/arguments.ts';
import type { Connections } from './connections.ts';
import { createChatOptions, type RunnerOptions } from './prepare.ts';

/** How long the tools of the session may take to load, in milliseconds. */
const loadMs = 15_000;

/** Checks the arguments of a call by its tool, as `assertArguments` does, among the tools that the session has now. */
export async function checkArguments(
	{ runtime, store, config, connections }: RunnerOptions & { readonly connections: Pick<Connections, 'rest' | 'take'> },
	call: ToolCall,
): Promise<void> {
	const {
		recall: _,
		embeddings: __,
		...options
	} = createChatOptions(runtime, config(), store.session(), {
		connections: connections.take(),
		store,
	});
	const tools = [...options.tools, ...options.skillTools];
	const calls = await prepareSingleCalls({ ...options, tools }, [], AbortSignal.timeout(loadMs));
	connections.rest('awaiting');
	await assertArguments(calls.find(call.name), call);
}
