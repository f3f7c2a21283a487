import type { ChatOptions } from '../../core/chat/index.ts';
import type { Agent } from './define.ts';

/** The options of the loop that an agent itself decides. Who runs it adds a model, skills and the context. */
export function toChatOptions(agent: Agent): Omit<ChatOptions, 'model'> & Pick<Agent, 'tools' | 'skillTools'> {
	const { system, tools, skillTools, outputSchema, mode, reasoningEffort, cache, contextFull, oldResults, timeouts } =
		agent;
	const { providerTools, serviceTier, speed, region, providerContext } = agent;
	const { maxIterations, maxToolCalls, maxParallelToolCalls, maxSentTools, maxToolTokens } = agent;
	const { maxReplyBytes, maxContextTokens, maxOutputTokens } = agent;
	return {
		system,
		tools,
		skillTools,
		outputSchema,
		mode,
		reasoningEffort,
		providerTools,
		serviceTier,
		speed,
		region,
		providerContext,
		cache,
		contextFull,
		oldResults,
		timeouts,
		maxIterations,
		maxToolCalls,
		maxParallelToolCalls,
		maxSentTools,
		maxToolTokens,
		maxReplyBytes,
		maxContextTokens,
		maxOutputTokens,
		fallbacks: agent.fallbacks,
		maxRetries: agent.maxRetries,
	};
}
