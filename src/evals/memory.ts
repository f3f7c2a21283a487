import { dropUndefined } from '../core/base/json.ts';
import type { ProviderRegistration, Skill } from '../core/index.ts';
import { createTestSession, type TestSession } from '../testing/index.ts';
import type { Conversation } from './conversation.ts';
import type { EvalCase, EvalDefinition } from './define.ts';
import type { Variables } from './models.ts';
import { answerFrom } from './recording.ts';

/** What a session in memory needs besides the definition. */
interface MemoryOptions {
	readonly model: string;
	/** The model of children that name none. */
	readonly defaultModel: string;
	readonly providers: readonly ProviderRegistration[];
	/** The variables that tools see, besides those of the definition. */
	readonly env: Variables;
	/** The published skills, if the definition has none. */
	readonly skills?: readonly Skill[];
	readonly signal: AbortSignal;
}

/** Opens a session of the agent in memory. */
export function openInMemory(
	definition: EvalDefinition,
	one: EvalCase,
	{ model, defaultModel, providers, env, skills, signal }: MemoryOptions,
): Conversation {
	const { agent, children = [] } = definition;
	const { recorded, name: _, input: __, expected: ___, expect: ____, scores: _____, ...beginning } = one;
	const session = createTestSession(
		// Another model must not answer for the one that is evaluated.
		{ ...agent, fallbacks: [], ...(recorded && { tools: answerFrom(recorded, agent.tools) }) },
		{
			...pickSession(definition),
			...dropUndefined(beginning),
			...{ skills: definition.skills ?? skills, model, providers, signal, env: { ...env, ...definition.env } },
			children: children.map(({ agent: child, script }) => ({
				...{ agent: { ...child, model: child.model ?? defaultModel }, script },
			})),
		},
	);
	let status = 'error';
	const follow = async (run: ReturnType<TestSession['send']>): Promise<void> => {
		status = 'error';
		status = (await run).status;
	};
	return {
		model,
		send: (message) => follow(session.send(message)),
		submit: (answer) => follow(session.submit([answer])),
		listPending: () => session.pending,
		read: async () => {
			const { usage, messages } = session;
			const unpriced = usage.unpriced ?? findUnpriced(session);
			return {
				...{ status, messages, tokens: usage.totalTokens ?? 0 },
				...(unpriced === undefined ? { costUsd: usage.costUsd ?? 0 } : { unpriced }),
			};
		},
		close: async () => {},
	};
}

/** Picks the options of a test session from a definition. */
function pickSession(definition: EvalDefinition) {
	const { script, owner, user, askedBy, metadata, skillContext, state, files, memories, mcp } = definition;
	return { script, owner, user, askedBy, metadata, skillContext, state, files, memories, mcp };
}

/** Finds a turn without a known cost, in the session or its children. Returns its model. */
function findUnpriced({ events, children }: TestSession): string | undefined {
	for (const event of events)
		if (event.type === 'step' && event.iteration > 0 && event.usage.costUsd === undefined) return event.model;
	return children.map(findUnpriced).find((model) => model !== undefined);
}
