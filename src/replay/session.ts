import { findChildWork } from '../cloudflare/agent/children.ts';
import type { Agent } from '../cloudflare/agent/define.ts';
import { type Env, type Skill, tool, workspace } from '../core/index.ts';
import type { ToolAnswers } from './answers.ts';
import type { ReplayClock } from './clock.ts';
import type { Recording } from './recording.ts';
import { createMask } from './redact.ts';
import type { ReplayedSession } from './run.ts';
import { findSetups } from './setups.ts';

/** The options of a replay. */
export interface ReplayOptions {
	/** The agents as they are now. */
	readonly agents: readonly Agent[];
	/**
	 * What answers the calls: `recorded` (the default) repeats the recorded results, `live` calls the agent's tools. Or
	 * by tool: `{ refund: 'live', find_order: ({ id }) => … }`, where the other calls repeat their recorded results.
	 * Calls to MCP servers, other agents, people and clients always repeat them.
	 */
	readonly tools?: ToolAnswers | Readonly<Record<string, ToolAnswers>>;
	/** The bindings and variables that prompts and live tools read. */
	readonly env?: Partial<Env>;
	/** The published skills that the agents name. `await readSkills('skills')` reads a folder. */
	readonly skills?: readonly Skill[];
}

/** Opens a recorded session for the replay of its runs. Returns undefined if its agent is missing. */
export function openSession(
	recording: Recording,
	{ agents, tools = 'recorded', env = {}, skills = [] }: ReplayOptions,
	clock: ReplayClock,
): ReplayedSession | undefined {
	const agent = agents.find(({ name }) => name === recording.session.agent);
	if (agent === undefined) return undefined;
	const children = new Set([...agent.tools, ...agent.skillTools].filter(findChildWork).map(({ name }) => name));
	return {
		...{ recording, agent, env, skills, clock, setups: findSetups(recording), mask: createMask(recording) },
		answersOf: (name) => (children.has(name) ? 'recorded' : isOne(tools) ? tools : (tools[name] ?? 'recorded')),
		state: tool.inMemoryState(),
		workspace: workspace.inMemory(),
	};
}

function isOne(tools: NonNullable<ReplayOptions['tools']>): tools is ToolAnswers {
	return typeof tools === 'string' || typeof tools === 'function';
}
