import * as v from 'valibot';
import { cacheMisses } from '../../core/chat/prompt-record.ts';
import type { JsonSchema } from '../../core/tool/index.ts';
import { budgetState } from './budget.ts';
import { question, waitingCall } from './call.ts';

/** The cost of calls to a model. A field that the provider did not report is missing. */
export const usage = v.object({
	inputTokens: v.optional(v.pipe(v.number(), v.description('All input, including cached tokens.'))),
	outputTokens: v.optional(v.pipe(v.number(), v.description('All output, including reasoning.'))),
	totalTokens: v.optional(v.number()),
	cachedInputTokens: v.optional(v.number()),
	reasoningTokens: v.optional(v.number()),
	units: v.optional(
		v.pipe(v.record(v.string(), v.number()), v.description('What has a price of its own, by name: `web_searches`.')),
	),
	serviceTier: v.optional(v.string()),
	speed: v.optional(v.string()),
	region: v.optional(v.string()),
	costUsd: v.optional(v.pipe(v.number(), v.description('US dollars.'))),
	unpriced: v.optional(v.pipe(v.string(), v.description('What has no known price: it is not in `costUsd`.'))),
	latencyMs: v.optional(v.pipe(v.number(), v.description('Milliseconds.'))),
	provider: v.optional(v.string()),
	model: v.optional(v.string()),
});

export const cacheMiss = v.optional(
	v.pipe(
		v.picklist(cacheMisses),
		v.description('Why the provider’s cache had less of the request than the turn before. Missing if it had that.'),
	),
);

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

/** The terms of a client for a run. */
export interface RunTerms {
	/** The schema of the answer, which is then JSON. */
	readonly outputSchema?: JsonSchema;
	/** With `false` the client gets at most one call at a time. */
	readonly parallelToolCalls?: boolean;
}

/** A tool that the client executes. Its calls stay open until the client posts their results. */
export interface ClientTool {
	readonly name: string;
	readonly description?: string;
	/** JSON Schema of its input. */
	readonly inputSchema: Readonly<Record<string, unknown>>;
}
