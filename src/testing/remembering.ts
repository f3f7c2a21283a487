import type { Agent } from '../cloudflare/agent/define.ts';
import { listInsideTools } from '../cloudflare/agent/inside-tools.ts';
import { findMemoryOptions } from '../cloudflare/agent/memory.ts';
import type { Config } from '../cloudflare/config/config.ts';
import { recallFor } from '../cloudflare/memory/recall.ts';
import { createMemoryTools } from '../cloudflare/memory/tools.ts';
import type { ChatOptions } from '../core/chat/index.ts';
import type { Message, Tool } from '../core/index.ts';
import { providerName } from '../core/tool/index.ts';
import type { TestMemories } from './memories.ts';

/** What an agent remembers by in a test. */
export interface Remembering {
	readonly tools: readonly Tool[];
	/** Makes the `recall` of a run with these messages. Each message keeps in front what was recalled for it. */
	readonly createRecall: (messages: readonly Message[]) => ChatOptions['recall'];
}

/** Connects an agent with memories: the tools and the recall are those of a Worker. */
export function createRemembering(
	agent: Agent,
	memories: TestMemories,
	{
		owner,
		user,
		messages,
	}: { readonly owner: string; readonly user?: string; readonly messages: () => readonly Message[] },
): Remembering | undefined {
	const options = findMemoryOptions(agent);
	if (options === undefined) return undefined;
	// SAFETY: the tools ask nothing of the configuration but the namespace of memories, and of that the object alone.
	const config = { memories: { idFromName: (name: string) => name, get: () => memories } } as unknown as Config;
	const about = { options, config, holder: { owner, user } };
	const insideTools = listInsideTools(agent);
	const recalled = new Map<number, { readonly text: string; readonly sources: readonly string[] }>();
	return {
		tools: createMemoryTools({
			...about,
			agent: agent.name,
			holdsOutsideText: () => messages().some((message) => isFromOutside(message, insideTools)),
		}),
		createRecall: (given) => async (text) => {
			const place = given.findLastIndex(({ role }) => role === 'user');
			const told = new Set([...recalled.values()].flatMap(({ sources }) => sources));
			const found = recalled.get(place) ?? (await recallFor(about, text, told));
			if (found !== undefined) recalled.set(place, found);
			const earlier = [...recalled]
				.filter(([one]) => one !== place)
				.map(([one, { text: front }]) => [one, front] as const);
			return { text: found?.text ?? '', sources: found?.sources ?? [], earlier: new Map(earlier) };
		},
	};
}

function isFromOutside(message: Message, insideTools: ReadonlySet<string>): boolean {
	if (message.role === 'user') return message.parts?.some(({ kind }) => kind !== 'text') === true;
	return (
		message.role === 'assistant' && message.toolCalls?.some(({ name }) => !insideTools.has(providerName(name))) === true
	);
}
