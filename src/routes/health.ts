import { Hono } from 'hono';
import type { Env } from '../config.ts';
import { getHealth } from '../wire/operations/service.ts';
import { serves } from './operation.ts';
import { notAllowed } from './request.ts';

/** `/healthz`: the Worker answers. */
export const health = new Hono<{ Bindings: Env }>()
	.get('/', serves(getHealth), (c) => c.json({ status: 'ok' }))
	.all('/', notAllowed('GET'));
