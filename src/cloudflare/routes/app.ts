import { Hono } from 'hono/tiny';
import { RunletError, toRunletError } from '../../core/ground/errors.ts';
import type { Runtime } from '../agent/runtime.ts';
import { toError } from '../objects/result.ts';
import { toFailureAt } from '../wire/protocols/format.ts';
import { showError } from '../wire/shown-error.ts';
import { accessLog } from './access-log.ts';
import { agentsRoute } from './agents.ts';
import { approvalsRoute } from './approvals.ts';
import { chatCompletionsRoute } from './chat-completions.ts';
import { copies } from './copies.ts';
import { allowOrigins } from './cors.ts';
import { files } from './files.ts';
import { healthRoute } from './health.ts';
import {
	assertMayAnswer,
	authenticate,
	limitStrangers,
	type RouteEnv,
	type RouteOptions,
	setOptions,
} from './identity.ts';
import { keys } from './keys.ts';
import { createMissingLinks, type LinkRoutes } from './links.ts';
import { createMissingMcp, type McpSupport } from './mcp.ts';
import type { Remembrance } from './memory.ts';
import { createMissingRoutes } from './missing.ts';
import { modelsRoute } from './model-list.ts';
import { page } from './page.ts';
import { findReader } from './reader.ts';
import type { ScheduleSupport } from './schedules.ts';
import { securityHeaders } from './security-headers.ts';
import { sessions } from './sessions.ts';
import { shedFairly } from './shed.ts';
import { skills } from './skills.ts';
import { tools } from './tools.ts';
import { uiRoute } from './ui.ts';
import { usage } from './usage.ts';
import { usersRoute } from './users.ts';
import { webhooksRoute } from './webhooks.ts';

/** What brings routes of its own. */
interface Supports {
	readonly mcp?: McpSupport;
	readonly memory?: Remembrance;
	readonly schedules?: ScheduleSupport;
	readonly links?: { routes(): LinkRoutes };
}

/**
 * The Worker's HTTP app: mounts the routes and turns every error into a response. A request comes without the base path,
 * which stands only in the addresses that the app gives.
 */
export function createApp(runtime: Runtime & RouteOptions & Supports) {
	const { basePath = '' } = runtime;
	const mcp = runtime.mcp?.routes(runtime) ?? createMissingMcp();
	const links = runtime.links?.routes() ?? createMissingLinks();
	const app = new Hono<RouteEnv>();
	app.onError(async (error, c) => {
		const response = toFailureAt(c.req.path, toError(showError(toRunletError(error), await findReader(c))));
		const allow = c.res.headers.get('allow');
		if (allow !== null) response.headers.set('allow', allow);
		return response;
	});
	app.notFound((c) => {
		const path = `${basePath}${c.req.path}`;
		const [, under] = /^(\/.{1,200}?)\/(?:v1|mcp|docs|healthz|openapi\.json)(?:\/|$)/.exec(path) ?? [];
		const remedy =
			under === undefined || under === basePath
				? `${basePath}/docs has the routes.`
				: `If Runlet stands under ${under}, say so: createRunlet({ basePath: '${under}' }).`;
		return toFailureAt(c.req.path, new RunletError('not_found', `There is nothing at ${path}. ${remedy}`));
	});
	app.use(setOptions(runtime), accessLog, securityHeaders, limitStrangers);
	for (const path of ['/v1/*', '/mcp/*']) app.use(path, allowOrigins(runtime), assertMayAnswer);
	// Authenticated by the senders' signatures.
	app.route('/v1/webhooks', webhooksRoute(runtime));
	// A browser comes back from a login page without a key.
	app.route('/v1/mcp', mcp.logins);
	// A link is its own authorization.
	app.route('/v1/decisions', links.decisions);
	// From here on every caller is identified. Routes with another authentication are mounted above.
	const shed = shedFairly();
	for (const path of ['/v1/*', '/mcp/*']) app.use(path, authenticate, shed);
	return app
		.route('/healthz', healthRoute(runtime))
		.route('/mcp', mcp.agents)
		.route('/v1/agents', agentsRoute(runtime))
		.route('/v1/approvals', approvalsRoute(runtime))
		.route('/v1/chat/completions', chatCompletionsRoute(runtime))
		.route('/v1/keys', keys)
		.route('/v1/mcp', mcp.servers)
		.route('/v1/memories', runtime.memory?.routes ?? createMissingRoutes('memory'))
		.route('/v1/models', modelsRoute(runtime))
		.route('/v1/schedules', runtime.schedules?.routes() ?? createMissingRoutes('schedules'))
		.route('/v1/sessions', copies)
		.route('/v1/sessions', sessions)
		.route('/v1/sessions', files)
		.route('/v1/sessions', links.sessions)
		.route('/v1/skills', skills)
		.route('/v1/tools', tools)
		.route('/v1/ui', uiRoute(runtime))
		.route('/v1/usage', usage)
		.route('/v1/users', usersRoute(runtime))
		.route('/', page);
}
