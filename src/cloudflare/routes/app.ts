import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { RunletError, toRunletError } from '../../core/base/errors.ts';
import type { Runtime } from '../agent/runtime.ts';
import { toError } from '../objects/reach.ts';
import { toFailureAt } from '../wire/protocols/format.ts';
import { showError } from '../wire/shown-error.ts';
import { createAgentRoutes } from './agents.ts';
import { createApprovalRoutes } from './approvals.ts';
import { createCompletionRoutes } from './chat-completions.ts';
import { feedbackRoutes } from './feedback.ts';
import { fileRoutes } from './files.ts';
import { createHealthRoutes } from './health.ts';
import {
	assertMayAnswer,
	authenticate,
	limitStrangers,
	type RouteEnv,
	type RouteOptions,
	setOptions,
} from './identity.ts';
import { keyRoutes } from './keys.ts';
import { meRoute } from './me.ts';
import { accessLog, allowOrigins, securityHeaders, shedFairly } from './middleware.ts';
import { createModelRoutes, type ModelForm } from './model-list.ts';
import { addPage, documentRoutes } from './page.ts';
import { type Dispatch, type RoutePlugin, refuseMissing } from './plugins.ts';
import { findReader, getRequestId } from './reader.ts';
import { addRoutes, type Route } from './request.ts';
import { rerunRoute } from './rerun.ts';
import { createSessionListRoute } from './session-list.ts';
import { sessionRoutes } from './sessions.ts';
import { skillRoutes } from './skills.ts';
import { toolRoutes } from './tools.ts';
import { createUiRoutes } from './ui.ts';
import { usageRoutes } from './usage.ts';
import { createUserRoutes } from './users.ts';
import { createWebhookRoutes } from './webhooks.ts';

/**
 * The Worker's HTTP app: mounts the routes and turns every error into a response. Request paths come without the base
 * path. Only the addresses in answers contain the base path.
 */
export function createApp(runtime: Runtime & RouteOptions, plugins: readonly RoutePlugin[] = []) {
	const { basePath = '' } = runtime;
	const app = new Hono<RouteEnv>();
	const dispatch: Dispatch = (request, env) => app.fetch(request, env);
	const forms = plugins.flatMap(({ models = [] }) => models);
	const routes = [...listRoutes(runtime, forms), ...plugins.flatMap((plugin) => plugin.listRoutes(runtime, dispatch))];
	const toFailure = (c: Context<RouteEnv>, error: RunletError): Response => {
		const { path } = c.req;
		const isOfModels = /^\/v1\/models(\/|$)/.test(path);
		const isOwn = ({ failures, models }: RoutePlugin): boolean | undefined =>
			isOfModels ? models && c.req.header(models.header) !== undefined : failures?.path.test(path);
		const own = plugins.find(isOwn)?.failures;
		return own === undefined ? toFailureAt(path, error) : own.toResponse(error, getRequestId(c));
	};
	app.onError(async (error, c) => {
		const response = toFailure(c, toError(showError(toRunletError(error), await findReader(c))));
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
		return toFailure(c, new RunletError('not_found', `There is nothing at ${path}. ${remedy}`));
	});
	app.use(setOptions(runtime), accessLog, securityHeaders, limitStrangers);
	for (const path of ['/v1/*', '/mcp/*']) app.use(path, allowOrigins(runtime), assertMayAnswer);
	// These routes need no key: browsers, senders of webhooks and people who open links have none.
	addRoutes(app, routes.filter(isOpen));
	// The following routes identify every caller.
	const shed = shedFairly();
	for (const path of ['/v1/*', '/mcp/*']) app.use(path, authenticate, shed);
	addRoutes(
		app,
		routes.filter((route) => !isOpen(route)),
	);
	for (const plugin of plugins) plugin.mount?.(app, runtime);
	refuseMissing(app, plugins);
	addPage(app, runtime.page);
	return app;
}

function listRoutes(runtime: Runtime, forms: readonly ModelForm[]): readonly Route[] {
	return [
		...createHealthRoutes(runtime),
		...createAgentRoutes(runtime),
		...createApprovalRoutes(runtime),
		...createCompletionRoutes(runtime),
		...createModelRoutes(runtime, forms),
		...createUiRoutes(runtime),
		...createUserRoutes(runtime),
		...createWebhookRoutes(runtime),
		...keyRoutes,
		meRoute,
		createSessionListRoute(runtime),
		...sessionRoutes,
		...feedbackRoutes,
		rerunRoute,
		...fileRoutes,
		...skillRoutes,
		...toolRoutes,
		...usageRoutes,
		...documentRoutes,
	];
}

function isOpen({ endpoint: { access } }: Route): boolean {
	return access === 'anybody' || access === 'sender';
}
