import type { ProviderRegistration } from '../../core/chat/index.ts';
import type { Config } from '../config/config.ts';
import type { CrashPoint } from './crash.ts';
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
	/** The Model Context Protocol, if the Worker has it. */
	readonly mcp?: McpConnector;
	/** What agents remember beyond a session, if the Worker has it. */
	readonly memory?: MemorySupport;
	/** Schedules, if the Worker has them. */
	readonly schedules?: ScheduleConnector;
	/** Where a test ends the process. A Worker has none. */
	readonly crashPoint?: CrashPoint;
}
