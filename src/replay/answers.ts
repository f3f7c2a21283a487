/** The tools of a replay. Recorded results take the place of their functions. */

import { findChildWork } from '../cloudflare/agent/children.ts';
import { dropUndefined } from '../core/base/json.ts';
import { askUser, type chat, halt, RunletError, type Tool, type ToolContext } from '../core/index.ts';
import { parts } from '../core/tool/index.ts';
import { copyData } from '../core/tool/state.ts';
import type { RecordedResult } from './history.ts';

/** How the calls of a tool are answered: by the recording, by the tool itself, or by another function. */
export type ToolAnswers = 'recorded' | 'live' | ((input: unknown, context: ToolContext) => unknown);

/** What a run recorded about its calls. */
export interface RecordedCalls {
	/** Returns the recorded result of a call of the current turn. */
	readonly findResult: (callId: string) => RecordedResult | undefined;
	/** Returns the question that a call without a result asked. */
	readonly findQuestion: (callId: string) => Omit<chat.Question, 'callId'> | undefined;
	/** Called for a call that the recorded run did not carry out. Throws. */
	readonly onUnknown: (tool: string, callId: string) => never;
}

/** Returns a tool whose calls get their recorded results. A tool without a function stays as it is. */
export function answerFrom(recorded: RecordedCalls, tool: Tool): Tool {
	if (tool.fn === undefined || tool.manual === true) return tool;
	const answer = (context: ToolContext) => replayResult(recorded, tool.name, context);
	const onAnswer: Tool['onAnswer'] = (_, __, context) => answer(context);
	const isChild = findChildWork(tool) !== undefined;
	return {
		...tool,
		passInput: true,
		fn: (_: unknown, context: ToolContext) => answer(context),
		onAnswer,
		// A session makes its own notes about a child.
		...(isChild && { onRequest: undefined, onResult: undefined, onError: () => 'ignore' }),
	};
}

/**
 * Returns a tool that is also available without its platform: wake-ups, a shell and the web. `wasSent` is whether the
 * recorded model was sent the tool.
 */
export function offerWithoutPlatform(tool: Tool, wasSent: boolean): Tool {
	const { isAvailable } = tool;
	if (isAvailable === undefined || !wasSent) return tool;
	// SAFETY: `isAvailable` only looks whether there is a platform.
	const platform = { wakeups: {}, shell: {}, web: {} } as unknown as Partial<ToolContext>;
	return { ...tool, isAvailable: (context) => isAvailable.call(tool, { ...platform, ...dropUndefined(context) }) };
}

async function replayResult(recorded: RecordedCalls, tool: string, { callId, state }: ToolContext): Promise<unknown> {
	const found = recorded.findResult(callId);
	if (found === undefined) {
		const question = recorded.findQuestion(callId);
		return question === undefined ? recorded.onUnknown(tool, callId) : askUser(question.question, question.options);
	}
	const { content, isError, parts: given, stored = {} } = found;
	for (const [key, ...value] of stored.changes ?? []) {
		if (value.length === 0) await state.delete(String(key));
		else await state.set(String(key), copyData(value[0]));
	}
	// A refusal keeps its text.
	if (isError === true) throw new RunletError('invalid_argument', String(content));
	if (given !== undefined) return parts(given);
	return stored.haltedReason === undefined ? copyData(content) : halt(stored.haltedReason, copyData(content));
}
