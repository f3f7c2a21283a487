import { Hono } from 'hono';
import { config, type Env } from './config.ts';
import { RunletError, toErrorBody, toResponse } from './errors.ts';
import { accessLog } from './routes/access-log.ts';
import { agentsRoute } from './routes/agents.ts';
import { health } from './routes/health.ts';
import { sessions } from './routes/sessions.ts';
import { skills } from './routes/skills.ts';
import type { Runtime } from './session/agent.ts';

/**
 * The Worker's HTTP side: mounts the routes, and turns every error into a response in one place. The page at `/` is a
 * static asset and does not come through here.
 */
export function createApp(runtime: Runtime) {
	const app = new Hono<{ Bindings: Env }>();
	app.onError((error, c) => {
		const response = toResponse(error);
		const allow = c.res.headers.get('allow');
		if (allow !== null) response.headers.set('allow', allow);
		return response;
	});
	app.notFound((c) => {
		const error = new RunletError('not_found', `There is nothing at ${c.req.path}. See README.md for the routes.`);
		return c.json(toErrorBody(error), 404);
	});
	app.use(accessLog);
	app.use('/v1/*', async (c, next) => {
		assertMayAnswer(config(c.env).local, new URL(c.req.url).hostname);
		await next();
	});
	return app
		.route('/healthz', health)
		.route('/v1/agents', agentsRoute(runtime))
		.route('/v1/sessions', sessions)
		.route('/v1/skills', skills);
}

/** Names of this machine, as a URL has them. */
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Fail-closed (design.md, "The wire"): without API keys only the local mode of `npm start` answers, and only under a name
 * of this machine, so that no page on the web reaches it under a name of its own.
 */
function assertMayAnswer(local: boolean, host: string): void {
	if (!local) {
		throw new RunletError(
			'not_configured',
			'This Worker answers nobody: Runlet has no keys of its own yet (this is not about a key for a model). Run it on your machine with npm start.',
		);
	}
	if (!loopback.has(host)) {
		throw new RunletError(
			'forbidden',
			'Without API keys only this machine is answered: use http://127.0.0.1 or http://localhost.',
		);
	}
}
