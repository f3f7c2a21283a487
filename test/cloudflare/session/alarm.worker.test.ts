import { runInDurableObject } from 'cloudflare:test';
import { afterEach, expect, test } from 'vitest';
import { Alarm } from '../../../src/cloudflare/session/run/next.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { createSession, readObject } from '../../client.ts';
import { breakStorage, mendStorage } from '../../storage.ts';

afterEach(mendStorage);

test('an alarm that could not be set is set as it was asked for last', async () => {
	const id = await createSession();
	const object = readObject(id);
	const readAlarm = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
	// Until the owner's list was told.
	await expect.poll(readAlarm).toBe(null);
	await runInDurableObject(object, async (_, { storage }) => {
		let wakeAt: number | undefined;
		const alarm = new Alarm(new SessionStore(storage), () => wakeAt);
		breakStorage();
		// One run ends, and the next one begins.
		const failed = alarm.set();
		wakeAt = Date.now() + 60_000;
		expect(await Promise.all([failed, alarm.set()])).toEqual([false, false]);
		mendStorage();
	});
	await expect.poll(readAlarm, { timeout: 30_000 }).not.toBe(null);
});
