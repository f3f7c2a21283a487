import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { RouteEnv } from '../../../src/cloudflare/routes/identity.ts';
import { shedFairly } from '../../../src/cloudflare/routes/middleware.ts';
import { toResponse } from '../../../src/core/base/errors.ts';

/** A Worker with two open requests, of one owner or two owners. It answers when the test allows it. */
function createWorker(most: number) {
	const gate = Promise.withResolvers<void>();
	const app = new Hono<RouteEnv>();
	app.onError(toResponse);
	app.use(async (c, next) => {
		const owner = c.req.header('owner') ?? '';
		const by = { via: 'key', owner, id: owner } as const;
		c.set('identity', { kind: 'person', by, role: 'staff', scopes: ['run'] });
		await next();
	}, shedFairly(most));
	app.post('/slow', async (c) => {
		await gate.promise;
		return c.text('done');
	});
	app.post('/sessions/1/cancel', (c) => c.text('cancelled'));
	return {
		ask: async (owner: string, path = '/slow') => app.request(path, { method: 'POST', headers: { owner } }),
		open: gate.resolve,
	};
}

test('an overloaded isolate refuses the owner with the most requests, and serves the others', async () => {
	const { ask, open } = createWorker(4);
	const burst = Array.from({ length: 4 }, () => ask('burst'));
	const refused = await ask('burst');
	expect([refused.status, (await refused.json<{ error: { code: string } }>()).error.code]).toEqual([503, 'overloaded']);
	expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
	const other = [ask('other'), ask('other')];
	expect((await ask('other')).status).toBe(503);
	expect((await ask('burst', '/sessions/1/cancel')).status).toBe(200);
	open();
	const answers = await Promise.all([...burst, ...other]);
	expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
});

test('an overloaded isolate accepts requests again when its open requests have ended', async () => {
	const { ask, open } = createWorker(1);
	const first = ask('burst');
	expect((await ask('burst')).status).toBe(503);
	open();
	await first;
	expect((await ask('burst')).status).toBe(200);
});
