import { filterAvailable } from '../tool/call.ts';
import { findByCall } from '../tool/define.ts';
import type { StateChanges, Tool, ToolCall } from '../tool/index.ts';
import { draftState } from '../tool/state.ts';
import type { Emit, Question } from './event.ts';
import type { Message } from './message.ts';
import type { ChatOptions, OpenCallState } from './options.ts';
import { type CallsOutcome, runCalls } from './tool-calls.ts';
import { prepareTurns } from './turn.ts';

/** Calls of tools from outside of a run. */
export interface SingleCalls {
	/** Finds the tool of a call by its own name or its provider-safe alias. */
	find(name: string): Tool | undefined;
	/** Lists the tools that may be called now. */
	list(): Promise<readonly Tool[]>;
	/** Runs one call. Throws `cancelled` if the signal aborts. */
	run(single: SingleCall): Promise<CallsOutcome>;
}

/** A call from outside of a run. */
export interface SingleCall {
	readonly call: ToolCall;
	/** Whether a person has allowed it. */
	readonly isApproved: boolean;
	/** The answer to the question that it has asked, if its tool takes it. */
	readonly answer?: OpenCallState['answer'];
	readonly emit: Emit;
	/** Stores the changes of the call in the state, and its question if it has asked one. Resolves once they are stored. */
	readonly store: (changes: StateChanges, question?: Question) => void | Promise<void>;
}

/**
 * Prepares calls that run as those of a run: with the same tools, context, checks and limits, but without a model, and
 * nothing enters a history. Throws what `loadTools` throws.
 *
 * @param messages the conversation, for tools that read it
 */
export async function prepareSingleCalls(
	options: ChatOptions,
	messages: readonly Message[],
	signal: AbortSignal,
): Promise<SingleCalls> {
	const { catalog, context, state } = prepareTurns(options, { stream: false, signal }, messages);
	await catalog.load();
	// Nobody has read a skill, and nobody has to search.
	const tools = catalog.tools.filter(({ name }) => catalog.ownNames.has(name));
	const timeoutMs = options.timeouts?.toolMs;
	return {
		find: (name) => findByCall(tools, name),
		list: () => filterAvailable(tools, { ...context, state: draftState(state).state, timeoutMs }),
		run: async ({ call, isApproved, answer, emit, store }) => {
			if (options.mode === 'manual') return { results: [], manual: [call] };
			return runCalls({
				calls: [call],
				beyondLimit: new Set(),
				tools,
				context,
				openCalls: new Map([[call.id, { isApproved, answer }]]),
				timeoutMs,
				emit,
				atOnce: 1,
				parallel: true,
				state,
				ask: async (question, _, changes) => store(changes, question),
				store: async (_, { changes }) => store(changes),
			});
		},
	};
}
