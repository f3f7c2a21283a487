import type { Agent } from './agent/define.ts';
import type { Runtime } from './agent/runtime.ts';
import type { RoutePlugin } from './routes/plugins.ts';
import type { LinkConnector } from './session/inbox/link-connector.ts';
import type { PushConnector } from './session/inbox/push-connector.ts';
import type { TraceExporter } from './session/run/trace-exporter.ts';

/** @internal What plugins provide to sessions and to the other objects. */
export interface Provided extends Pick<Runtime, 'mcp' | 'memory' | 'schedules' | 'uploads'> {
	readonly links?: LinkConnector;
	readonly push?: PushConnector;
	readonly traces?: TraceExporter;
}

/**
 * A part of Runlet that only some Workers need, such as `mcp` or `memory`, each in `runlet/cloudflare/NAME`.
 * A Worker names its plugins in `createRunlet({ agents, plugins: [mcp, memory] })`.
 */
export interface Plugin extends RoutePlugin {
	/** @internal */
	readonly provides: Provided;
	/** Throws `invalid_agent`, which names the field, for an agent whose settings for the plugin are wrong. */
	assertAgents?(agents: readonly Agent[]): void;
}

/** @internal Joins what plugins provide. */
export function joinProvided(plugins: readonly Plugin[]): Provided {
	return Object.assign({}, ...plugins.map(({ provides }) => provides));
}
