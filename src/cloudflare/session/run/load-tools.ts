import type { ChatOptions } from '../../../core/chat/index.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import { listInsideTools } from '../../agent/inside-tools.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { findHolder, findMemoryOptions } from '../../agent/memory.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { listToolNames } from '../../agent/tool-names.ts';
import { loadUserTools } from '../../agent/user-tools/load.ts';
import type { Config } from '../../config/config.ts';
import { createOutsideCheck } from '../store/outside-text.ts';
import { isOwners, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import type { Embeddings } from './embedding-meter.ts';
import type { SessionRecall } from './recall.ts';

/** What is added to an agent's own tools in a session. */
interface Added {
	readonly config: Config;
	readonly owner: string;
	/** The names of the client's tools. */
	readonly clientTools: readonly string[];
	readonly connections: McpConnections | undefined;
}

/**
 * Creates the loader of a run: the HTTP tools of the owner, as they are when the run begins, and the tools of MCP servers,
 * as they are before each turn. Of two tools with one name the first is offered: the agent's, the client's, the owner's, a
 * server's. Nothing if the agent has none of these.
 */
export function createToolLoader(
	agent: Agent,
	{ config, owner, clientTools, connections }: Added,
): ChatOptions['loadTools'] {
	if (agent.userTools !== true && connections === undefined) return undefined;
	const taken = new Set([...listToolNames(agent), ...clientTools.map(providerName)]);
	let ofOwner: Promise<readonly Tool[]> | undefined;
	let known: readonly Tool[] = [];
	return async (warn) => {
		ofOwner ??= agent.userTools === true ? loadUserTools(config, owner, taken) : Promise.resolve([]);
		const [own, served = []] = await Promise.all([ofOwner, connections?.loadTools(warn)]);
		const loaded = keepFirst([...own, ...served], taken);
		// The same list says that nothing changed.
		const isSame = loaded.length === known.length && loaded.every((tool, index) => tool === known[index]);
		if (!isSame) known = loaded;
		return known;
	};
}

/** What an agent needs of a session to remember. */
interface Remembering {
	readonly config: Config;
	readonly embeddings: Embeddings;
	readonly session: Pick<SessionRecord, 'agent' | 'owner' | 'user' | 'createdBy'>;
	readonly store: SessionStore | undefined;
}

/** Creates what an agent remembers by: its tools, and what it recalls by itself. Nothing if it does not. */
export function createMemory(
	{ agents, memory }: Pick<Runtime, 'agents' | 'memory'>,
	{ config, embeddings, session, store }: Remembering,
): { readonly tools: readonly Tool[]; readonly recall?: SessionRecall } {
	const agent = findAgent(agents, session.agent);
	const options = findMemoryOptions(agent);
	const holder = findHolder({ ...session, isOwners: isOwners(session) });
	if (memory === undefined || options === undefined || holder === undefined) return { tools: [] };
	const insideTools = listInsideTools(agent);
	const isHeld = store && createOutsideCheck(store);
	const holdsOutsideText = () => isHeld === undefined || isHeld(insideTools);
	const { embedModel: model } = options;
	const embed = (texts: readonly string[], signal?: AbortSignal) => embeddings.embed(model ?? '', texts, signal);
	const embedding = model === undefined ? undefined : { model, embed };
	const about = { options, config, holder, embedding };
	return {
		tools: memory.createTools({ ...about, agent: agent.name, holdsOutsideText }),
		recall: {
			find: (text, told) => memory.recallFor(about, text, told),
			again: (lists) => memory.recallAgain(about, lists),
		},
	};
}

function keepFirst(tools: readonly Tool[], taken: ReadonlySet<string>): readonly Tool[] {
	const seen = new Set(taken);
	return tools.filter(({ name }) => {
		const shown = providerName(name);
		const isNew = !seen.has(shown);
		seen.add(shown);
		return isNew;
	});
}
