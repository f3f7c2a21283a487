import type { Hono } from 'hono/tiny';
import type { RunletError } from '../../core/base/errors.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { WorkerEnv } from '../config/env.ts';
import { createMissing, type PluginName } from '../objects/missing.ts';
import type { RouteEnv } from './identity.ts';
import type { ModelForm } from './model-list.ts';
import type { Route } from './request.ts';

/** Answers a request that a route makes, with all checks of a request from outside. */
export type Dispatch = (request: Request, env: WorkerEnv) => Response | Promise<Response>;

export interface RoutePlugin {
	readonly name: PluginName;
	/** Lists the API routes of the plugin. */
	listRoutes(runtime: Runtime, dispatch: Dispatch): readonly Route[];
	/** Writes the failures of the plugin's paths, if its protocol has a form of its own. */
	readonly failures?: {
		readonly path: RegExp;
		readonly toResponse: (error: RunletError, requestId: string) => Response;
	};
	/** The form of `/v1/models` for the protocol's clients. */
	readonly models?: ModelForm;
	/** Adds the paths of another protocol. Their callers are already identified. */
	mount?(app: Hono<RouteEnv>, runtime: Runtime): void;
}

const paths: readonly (readonly [plugin: PluginName, path: string])[] = [
	['a2a', '/v1/a2a/*'],
	['agui', '/v1/ag-ui/*'],
	['embeddings', '/v1/embeddings'],
	['files', '/v1/files/*'],
	['links', '/v1/sessions/:id/links'],
	['mcp', '/mcp/*'],
	['mcp', '/v1/mcp/*'],
	['memory', '/v1/memories/*'],
	['messages', '/v1/messages/*'],
	['responses', '/v1/responses/*'],
	['responses', '/v1/conversations/*'],
	['schedules', '/v1/schedules/*'],
];

/** Answers the paths of missing plugins with `not_found`. Its message describes how to add the plugin. */
export function refuseMissing(app: Hono<RouteEnv>, plugins: readonly RoutePlugin[]): void {
	for (const [name, path] of paths)
		if (!plugins.some((plugin) => plugin.name === name))
			app.all(path, () => {
				throw createMissing(name);
			});
}
