import { filterAvailable } from '../tool/call.ts';
import { findByCall } from '../tool/define.ts';
import type { StateChanges, Tool, ToolCall } from '../tool/index.ts';
import { draftState } from '../tool/state.ts';
import type { Emit, Question } from './event.ts';
import type { Message } from './message.ts';
import type { ChatOptions, OpenCallState } from './options.ts';
import { type CallsOutcome, runCalls } from './tool-calls.ts';
import { prepareTurns } from './turn.ts';

/** Tool calls outside of a run. */
export interface SingleCalls {
	/** Finds a call's tool by the tool's own name or its provider-safe alias. */
	find(name: string): Tool | undefined;
	/** Lists the tools that can be called now. */
	list(): Promise<readonly Tool[]>;
	/** Runs one call. Throws `cancelled` if the signal aborts. */
	run(single: SingleCall): Promise<CallsOutcome>;
}

export interface SingleCall {
	readonly call: ToolCall;
	readonly isApproved: boolean;
	/** The answer to the question of the call, if its tool handles the answer. */
	readonly answer?: OpenCallState['answer'];
	readonly emit: Emit;
	/** Stores the state changes of the call, and its question, if there is a question. */
	readonly store: (changes: StateChanges, question?: Question) => void | Promise<void>;
}

/**
 * Prepares tool calls with the tools, context, checks and limits of a run, but without a model. Tools can read
 * `messages`. Throws the errors of `loadTools`.
 */
export async function prepareSingleCalls(
	options: ChatOptions,
	messages: readonly Message[],
	signal: AbortSignal,
): Promise<SingleCalls> {
	const { catalog, context, state } = prepareTurns(options, { stream: false, signal }, messages);
	await catalog.load();
	// Without a model there are no read skills and no tool search.
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
				secrets: options.secrets,
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
