import { type ChatOptions, resolveRegistration } from '../../../core/chat/index.ts';
import { type Agent, chooseModel, findAgent } from '../../agent/define.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { logThrown } from '../../log.ts';
import type { MessageRecord } from '../store/messages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionRecord, SessionStore } from '../store/store.ts';

/** Creates the options of the loop from the session's agent. */
export function createChatOptions(
	runtime: Runtime,
	config: Config,
	session: Pick<SessionRecord, 'agent' | 'model' | 'clientTools'> &
		Pick<RunRecord, 'maxOutputTokens' | 'toolChoice' | 'terms'>,
): ChatOptions & Pick<Agent, 'tools'> {
	const agent = findAgent(runtime.agents, session.agent);
	const { system, skillTools, maxIterations, maxToolCalls, maxReplyBytes, maxContextTokens } = agent;
	const { mode, contextFull, reasoningEffort, fallbacks, maxRetries, timeouts } = agent;
	const { clientTools = [] } = session;
	const model = chooseModel(agent, session.model, config.model);
	const providers = runtime.providers(config);
	return {
		model,
		providers,
		modelContextWindow: resolveRegistration({ model, providers })?.contextWindow,
		reasoningEffort,
		system,
		tools: [...agent.tools, ...clientTools.map((tool) => ({ ...tool, manual: true }))],
		skillTools,
		skillResolver: createResolver(agent, config, providers),
		onToolThrow: (tool, thrown) => logThrown(tool, thrown, { local: config.local !== undefined }),
		maxIterations,
		maxToolCalls,
		maxReplyBytes,
		maxContextTokens,
		contextFull,
		mode,
		toolChoice: session.toolChoice,
		...session.terms,
		maxOutputTokens: takeShorter(agent.maxOutputTokens, session.maxOutputTokens),
		fallbacks,
		maxRetries,
		timeouts,
	};
}

function takeShorter(a: number | undefined, b: number | undefined): number | undefined {
	return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** Characters of a conversation that are read for a run. That is more than any model takes, and fits the object's memory. */
const mostCharacters = 32_000_000;

/** Reads what a model may be sent of the conversation: from the newest summary on, and no more than could fit. */
export function readHistory(
	store: SessionStore,
	{ contextFull, maxContextTokens }: Pick<ChatOptions, 'contextFull' | 'maxContextTokens'>,
): readonly MessageRecord[] {
	const characters = contextFull === 'truncate' ? toCharacters(maxContextTokens) : mostCharacters;
	return store.messages.newest({ from: store.summary, characters });
}

/** Returns more characters than fit into a number of tokens, however they are counted. */
function toCharacters(tokens = 1_000_000): number {
	return Math.min(mostCharacters, 16 * tokens);
}
