import * as v from 'valibot';
import { cacheMisses } from '../../core/chat/prompt-record.ts';
import type { JsonSchema } from '../../core/tool/index.ts';
import { budgetState } from './budget.ts';
import { question, waitingCall } from './call.ts';
import { described } from './field.ts';

/** The used tokens and units. Fields that the provider did not report are missing. */
export const usage = v.object({
	inputTokens: v.optional(described(v.number(), 'All input, including cached tokens.')),
	outputTokens: v.optional(described(v.number(), 'All output, including reasoning.')),
	totalTokens: v.optional(v.number()),
	cachedInputTokens: v.optional(v.number()),
	reasoningTokens: v.optional(v.number()),
	units: v.optional(
		described(v.record(v.string(), v.number()), 'Units with their own price, by name: `web_searches`.'),
	),
	serviceTier: v.optional(v.string()),
	speed: v.optional(v.string()),
	region: v.optional(v.string()),
	costUsd: v.optional(described(v.number(), 'US dollars.')),
	unpriced: v.optional(described(v.string(), 'The part without a known price, which is not in `costUsd`.')),
	latencyMs: v.optional(described(v.number(), 'Milliseconds.')),
	provider: v.optional(v.string()),
	model: v.optional(v.string()),
});

export const cacheMiss = v.optional(
	described(
		v.picklist(cacheMisses),
		'Why the provider’s cache had less of the request than the turn before. Missing if it had that.',
	),
);

const runId = v.string();
const toolCalls = v.optional(described(v.array(waitingCall), 'The calls that wait for an answer.'));

export const runOutput = v.optional(
	described(v.unknown(), 'The value of the text, if the agent has an `outputSchema`.'),
);

/** The result of a run that ended. A failed run has an error instead. */
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

/** A run that has only begun. Its events are on the session's event stream. */
export const acceptedRun = v.object({ runId });

/** The settings of a client for a run. */
export interface RunTerms {
	/** The schema of a JSON answer. Missing for an answer as text. */
	readonly outputSchema?: JsonSchema;
	/** With `false` the client gets at most one call at a time. */
	readonly parallelToolCalls?: boolean;
}

/** A tool that the client runs. Its calls wait until the client posts their results. */
export interface ClientTool {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: Readonly<Record<string, unknown>>;
}
