import { runInDurableObject } from 'cloudflare:test';
import { afterEach, expect, test } from 'vitest';
import { Alarm } from '../../../src/cloudflare/session/run/next.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { createSession, readNextAlarm, readObject } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { breakStorage, mendStorage } from '../../storage.ts';

afterEach(mendStorage);

test('after a failed write, sets the alarm that was requested last', async () => {
	const id = await createSession();
	const object = readObject(id);
	const readAlarm = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
	// Wait until the owner's list got its report.
	await expect.poll(() => readNextAlarm(id)).toBe(null);
	const second = Date.now() + 60_000;
	await runInDurableObject(object, async (_, { storage }) => {
		let wakeAt = second + 60_000;
		const alarm = new Alarm(new SessionStore(storage), () => wakeAt);
		breakStorage();
		// A run ends during the failure, and the next run begins.
		const failed = alarm.set();
		wakeAt = second;
		expect(await Promise.all([failed, alarm.set()])).toEqual([false, false]);
		mendStorage();
	});
	await expect.poll(readAlarm, { timeout: 30_000 }).toBe(second);
});

test('keeps an alarm that is early enough, and replaces an alarm that is too late', async () => {
	const id = await createSession();
	const object = readObject(id);
	await expect.poll(() => readNextAlarm(id)).toBe(null);
	const takeWork = countWork(id);
	const begun = Date.now();
	await runInDurableObject(object, async (_, { storage }) => {
		const wakeAt: (number | undefined)[] = [60_000, 90_000, undefined, 30_000].map((ms) => ms && begun + ms);
		const alarm = new Alarm(new SessionStore(storage), () => wakeAt.shift());
		while (wakeAt.length > 0) expect(await alarm.set()).toBe(true);
		expect(await storage.getAlarm()).toBe(begun + 30_000);
	});
	expect(takeWork().filter(({ what }) => what.endsWith('Alarm'))).toHaveLength(2);
});

test('sets only one alarm while a new instance reads the stored alarm', async () => {
	const id = await createSession();
	const object = readObject(id);
	await expect.poll(() => readNextAlarm(id)).toBe(null);
	const takeWork = countWork(id);
	const at = Date.now() + 60_000;
	await runInDurableObject(object, async (_, { storage }) => {
		const alarm = new Alarm(new SessionStore(storage), () => at);
		expect(await Promise.all([alarm.renew(), alarm.set()])).toEqual([true, true]);
		expect(await storage.getAlarm()).toBe(at);
	});
	expect(takeWork().filter(({ what }) => what.endsWith('Alarm'))).toHaveLength(1);
});
