import { Hono } from 'hono';
import { notAllowed } from './request.ts';

/** `/healthz`: the Worker answers. */
export const health = new Hono().get('/', (c) => c.json({ status: 'ok' })).all('/', notAllowed('GET'));
