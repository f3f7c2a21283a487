import * as v from 'valibot';
import { budgetState } from './budget.ts';
import { question, waitingCall } from './call.ts';
import { usage } from './usage.ts';

const runId = v.string();
const toolCalls = v.optional(v.pipe(v.array(waitingCall), v.description('The calls that wait for an answer.')));

/** The value that an agent with an `outputSchema` answers. */
export const runOutput = v.optional(
	v.pipe(v.unknown(), v.description('The value of the text, if the agent has an `outputSchema`.')),
);

/** The result of a run that ended. A failed run is an error instead. */
export const runResult = v.variant('status', [
	v.object({
		runId,
		status: v.literal('completed'),
		text: v.string(),
		usage,
		output: runOutput,
		budget: v.optional(budgetState),
	}),
	v.object({ runId, status: v.literal('awaiting_user'), question: v.optional(question), toolCalls }),
	v.object({ runId, status: v.literal('awaiting_tools'), question: v.optional(question), toolCalls }),
	v.object({ runId, status: v.literal('halted'), reason: v.string() }),
	v.object({ runId, status: v.literal('cancelled'), usage: v.optional(usage) }),
]);

/** A run that was accepted. Its events are on the session's event stream. */
export const acceptedRun = v.object({ runId });
