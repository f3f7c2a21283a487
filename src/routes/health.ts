import { Hono } from 'hono';
import { getHealth } from '../wire/operations/service.ts';
import type { RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { notAllowed } from './request.ts';

/** `/healthz`: the Worker answers. */
export const health = new Hono<RouteEnv>()
	.get('/', serves(getHealth), (c) => c.json({ status: 'ok' }))
	.all('/', notAllowed('GET'));
