import type { ProviderRegistration } from '../../core/chat/index.ts';
import type { Config } from '../config/config.ts';
import type { Agent } from './define.ts';
import type { McpConnector } from './mcp.ts';
import type { MemorySupport } from './memory.ts';
import type { ScheduleConnector } from './schedule-connector.ts';
import type { SkillSource } from './skill-source.ts';

/** What a Worker serves: its agents, and the providers that its configuration makes possible. */
export interface Runtime {
	readonly agents: readonly Agent[];
	readonly providers: (config: Config) => readonly ProviderRegistration[];
	/** Where the skills come from that agents name; KV if it is missing. */
	readonly skills?: SkillSource;
	/** Provided by plugins. */
	readonly mcp?: McpConnector;
	readonly memory?: MemorySupport;
	readonly schedules?: ScheduleConnector;
	/** Where a test ends the process. A Worker has none. */
	readonly crashPoint?: CrashPoint;
}

/**
 * The moments at which a run has just written (docs/runs.md, "What a run writes"), in this order; `taken-up` is the
 * first of each further life.
 */
export type CrashPointName =
	| 'accepted'
	| 'taken-up'
	| 'model-begin'
	| 'draft'
	| 'model-end'
	| 'tool-begin'
	| 'tool-end'
	| 'ended';

/** Called and awaited at each of these moments, so that a test can end the process exactly there. Only tests set it. */
export type CrashPoint = (
	point: CrashPointName,
	about: { readonly session: string; readonly run: number },
) => void | Promise<void>;

/** The moments of one run. */
export type AtCrashPoint = (point: CrashPointName) => void | Promise<void>;

/** Makes the function that reports the moments of one run. */
export function createCrashPoints(tell: CrashPoint | undefined, session: string, run: number): AtCrashPoint {
	return tell === undefined ? () => {} : (point) => tell(point, { session, run });
}
