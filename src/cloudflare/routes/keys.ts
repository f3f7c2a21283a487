import { Hono } from 'hono';
import { isOver } from '../auth/key.ts';
import { readConfig } from '../config/config.ts';
import type { listedKey } from '../wire/key.ts';
import { listKeys } from '../wire/operations/keys.ts';
import type { Shown } from '../wire/shown.ts';
import type { RouteEnv } from './identity.ts';
import { serveOperation } from './operation.ts';
import { refuseMethod } from './request.ts';

/** `/v1/keys`: lists the keys that the Worker knows, which shows whether a rotation has reached it. */
export const keys = new Hono<RouteEnv>()
	.get('/', serveOperation(listKeys), (c) => {
		const listed = readConfig(c.env).keys.map((record): Shown<typeof listedKey> => {
			const { id, owner, scopes, budget, expiresAt } = record;
			return { id, owner, scopes, budget, expiresAt, isOver: isOver(record) };
		});
		return c.json({ keys: listed });
	})
	.all('/', refuseMethod('GET'));
