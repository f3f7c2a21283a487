import { env, runInDurableObject } from 'cloudflare:test';
import { expect, onTestFinished, test, vi } from 'vitest';
import { nameShard } from '../../../src/cloudflare/objects/shards.ts';
import { createObjects } from '../../../src/cloudflare/runlet/objects.ts';
import { runtime } from '../../worker.ts';

/** Lets the storage of an object tell another size, during `work`. */
function resize({ storage: { sql } }: DurableObjectState, databaseSize: number, work: () => void): void {
	Object.defineProperty(sql, 'databaseSize', { value: databaseSize, configurable: true });
	work();
	Reflect.deleteProperty(sql, 'databaseSize');
}

test('an object of 8 GB and more says so once, in the log and in the metrics', async () => {
	const points: object[] = [];
	const METRICS = { writeDataPoint: (point: object) => points.push(point) };
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
	onTestFinished(() => warn.mockRestore());
	const { Ledger, Session } = createObjects(runtime);
	const ledger = env.LEDGERS.get(env.LEDGERS.idFromName(nameShard('nearly-full', 64, 'kim')));
	await runInDurableObject(ledger, (_, ctx) => {
		resize(ctx, 7.9e9, () => void new Ledger(ctx, { ...env, METRICS }));
		expect(points).toEqual([]);
		resize(ctx, 8.1e9, () => void new Ledger(ctx, { ...env, METRICS }).days(1));
	});
	const session = env.SESSIONS.get(env.SESSIONS.newUniqueId());
	await runInDurableObject(session, (_, ctx) => resize(ctx, 9e9, () => void new Session(ctx, { ...env, METRICS })));
	const [ids, zeros] = [[ledger, session].map(({ id }) => id.toString()), Array(11).fill(0)];
	expect(points).toEqual([
		{ indexes: ['nearly-full'], blobs: ['', '', '', 'nearly_full', 'ledger', ids[0]], doubles: [...zeros, 8.1e9] },
		{ indexes: [''], blobs: ['', '', '', 'nearly_full', 'session', ids[1]], doubles: [...zeros, 9e9] },
	]);
	const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
	const event = { level: 'warn', event: 'object.nearly_full' };
	expect(lines).toEqual([
		{
			...event,
			...{ 'runlet.object': 'ledger', 'runlet.object.id': ids[0], 'runlet.object.bytes': 8.1e9 },
			'runlet.owner': 'nearly-full',
		},
		{ ...event, 'runlet.object': 'session', 'runlet.object.id': ids[1], 'runlet.object.bytes': 9e9 },
	]);
});
