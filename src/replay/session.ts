import { findChildWork } from '../cloudflare/agent/children.ts';
import type { Agent } from '../cloudflare/agent/define.ts';
import type { Setup } from '../cloudflare/session/store/setup.ts';
import { type Env, type Skill, type ToolContext, tool, type Workspace, workspace } from '../core/index.ts';
import type { StateStore } from '../core/tool/state.ts';
import type { ReplayClock } from './clock.ts';
import type { Recording } from './recording.ts';
import { createMask } from './redact.ts';
import { findSetups } from './setups.ts';

/** How the calls of a tool are answered: by the recording, by the tool itself, or by another function. */
export type ToolAnswers = 'recorded' | 'live' | ((input: unknown, context: ToolContext) => unknown);

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
	/**
	 * Whether the hooks of the tools run for recorded results: `onRequest`, `onResult` and `onError`. Their notes are
	 * compared. The default is `run`.
	 */
	readonly hooks?: 'run' | 'skip';
	/** The bindings and variables that prompts and live tools read. */
	readonly env?: Partial<Env>;
	/** The published skills that the agents name. `await readSkills('skills')` reads a folder. */
	readonly skills?: readonly Skill[];
}

/** The session of a replay, over all its runs. */
export interface ReplayedSession {
	readonly recording: Recording;
	readonly agent: Agent;
	readonly setups: ReadonlyMap<string, Setup>;
	readonly env: Partial<Env>;
	readonly skills: readonly Skill[];
	readonly hooks: 'run' | 'skip';
	/** Returns how the calls of a tool are answered. */
	readonly answersOf: (tool: string) => ToolAnswers;
	readonly state: StateStore;
	readonly workspace: Workspace;
	readonly clock: ReplayClock;
	/** Hides what a redacted recording replaced. */
	readonly mask: (value: unknown) => unknown;
}

/** Opens a recorded session for the replay of its runs. Returns undefined if its agent is missing. */
export function openSession(
	recording: Recording,
	{ agents, tools = 'recorded', hooks = 'run', env = {}, skills = [] }: ReplayOptions,
	clock: ReplayClock,
): ReplayedSession | undefined {
	const agent = agents.find(({ name }) => name === recording.session.agent);
	if (agent === undefined) return undefined;
	const children = new Set([...agent.tools, ...agent.skillTools].filter(findChildWork).map(({ name }) => name));
	return {
		...{ recording, agent, env, skills, hooks, clock, setups: findSetups(recording), mask: createMask(recording) },
		answersOf: (name) =>
			children.has(name)
				? 'recorded'
				: isOne(tools)
					? tools
					: ((Object.hasOwn(tools, name) ? tools[name] : undefined) ?? 'recorded'),
		state: tool.inMemoryState(),
		workspace: workspace.inMemory(),
	};
}

function isOne(tools: NonNullable<ReplayOptions['tools']>): tools is ToolAnswers {
	return typeof tools === 'string' || typeof tools === 'function';
}
