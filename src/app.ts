import { Hono } from 'hono';
import { config, type Env } from './config.ts';
import { RunletError, toErrorBody, toResponse } from './errors.ts';
import { agentsRoute } from './routes/agents.ts';
import { health } from './routes/health.ts';
import { sessions } from './routes/sessions.ts';
import type { Runtime } from './session/agent.ts';

/**
 * The Worker's HTTP side: mounts the routes, and turns every error into a response in one place. The page at `/` is a
 * static asset and does not come through here.
 */
export function createApp({ agents }: Pick<Runtime, 'agents'>) {
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
	app.use('/v1/*', async (c, next) => {
		// Fail-closed: without API keys only the local mode of `npm start` answers (design.md, "The wire").
		if (!config(c.env).local) {
			throw new RunletError(
				'not_configured',
				'This Worker has no API keys yet, so it answers nobody. Run it locally with npm start.',
			);
		}
		await next();
	});
	return app.route('/healthz', health).route('/v1/agents', agentsRoute(agents)).route('/v1/sessions', sessions);
}
