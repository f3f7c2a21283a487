import type { ChatOptions } from '../../core/chat/index.ts';
import type { Agent } from './define.ts';

/** The options of the loop that an agent decides, without its model, skills and context. */
export function toChatOptions(agent: Agent): Omit<ChatOptions, 'model'> & Pick<Agent, 'tools' | 'skillTools'> {
	return {
		system: agent.system,
		tools: agent.tools,
		skillTools: agent.skillTools,
		outputSchema: agent.outputSchema,
		mode: agent.mode,
		reasoningEffort: agent.reasoningEffort,
		providerTools: agent.providerTools,
		serviceTier: agent.serviceTier,
		speed: agent.speed,
		region: agent.region,
		providerContext: agent.providerContext,
		cache: agent.cache,
		contextFull: agent.contextFull,
		oldResults: agent.oldResults,
		timeouts: agent.timeouts,
		maxIterations: agent.maxIterations,
		maxToolCalls: agent.maxToolCalls,
		maxParallelToolCalls: agent.maxParallelToolCalls,
		maxSentTools: agent.maxSentTools,
		maxToolTokens: agent.maxToolTokens,
		maxReplyBytes: agent.maxReplyBytes,
		maxContextTokens: agent.maxContextTokens,
		maxOutputTokens: agent.maxOutputTokens,
		fallbacks: agent.fallbacks,
		maxRetries: agent.maxRetries,
	};
}
