import type { ProviderRegistration } from '../../core/chat/index.ts';
import type { Config } from '../config/config.ts';
import type { Agent } from './define.ts';
import type { McpConnector } from './mcp.ts';
import type { MemorySupport } from './memory.ts';
import type { ScheduleConnector } from './schedule-connector.ts';
import type { SkillSource } from './skill-source.ts';
import type { UploadConnector } from './upload-connector.ts';

export interface Runtime {
	readonly agents: readonly Agent[];
	readonly providers: (config: Config) => readonly ProviderRegistration[];
	/** The source of the skills that agents name. KV by default. */
	readonly skills?: SkillSource;
	/** Plugins set the following fields. */
	readonly mcp?: McpConnector;
	readonly memory?: MemorySupport;
	readonly schedules?: ScheduleConnector;
	readonly uploads?: UploadConnector;
	/** Only tests set it. */
	readonly crashPoint?: CrashPoint;
}

/**
 * The moments after each write of a run (docs/runs.md, "What a run writes"), in order. `taken-up` is the first moment
 * after a restart.
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

/** Called and awaited at each of these moments, so that a test can end the process exactly there. */
export type CrashPoint = (
	point: CrashPointName,
	about: { readonly session: string; readonly run: number },
) => void | Promise<void>;

export type AtCrashPoint = (point: CrashPointName) => void | Promise<void>;

export function createCrashPoints(report: CrashPoint | undefined, session: string, run: number): AtCrashPoint {
	return report === undefined ? () => {} : (point) => report(point, { session, run });
}
