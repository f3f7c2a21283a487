/** Where objects live (docs/data.md). */
import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { localIdentity } from '../../../src/cloudflare/auth/identity.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { takeValue } from '../../../src/cloudflare/objects/reach.ts';
import { createSession, readObject } from '../../client.ts';
import { Session } from '../../worker.ts';

const names = ['SESSIONS', 'LEDGERS', 'DIRECTORIES', 'PUBLISHERS', 'MEMORIES'] as const;
const fields = ['sessions', 'ledgers', 'directories', 'publishers', 'memories'] as const;

/** The environment of a deployed Worker. Its namespaces note the jurisdiction and the options of each object. */
function deploy(more: object) {
	const placed: unknown[] = [];
	const wrap = (name: (typeof names)[number], within?: string): object => ({
		idFromName: (text: string) => env[name].idFromName(text),
		idFromString: (text: string) => env[name].idFromString(text),
		newUniqueId: () => env[name].newUniqueId(),
		get: (id: DurableObjectId, options?: object) => {
			placed.push([name, within, options]);
			return env[name].get(id);
		},
		jurisdiction: (where: string) => wrap(name, where),
	});
	const wrapped = Object.fromEntries(names.map((name) => [name, wrap(name)]));
	return { placed, env: { ...env, LOCAL: undefined, ...wrapped, ...more } };
}

describe('the objects of a Worker', () => {
	test('live in its jurisdiction, and begin at its place', () => {
		const { env, placed } = deploy({ JURISDICTION: 'eu', LOCATION_HINT: 'weur' });
		const config = readConfig(env);
		for (const field of fields) config[field].get(config[field].idFromName('someone'));
		expect(placed).toEqual(names.map((name) => [name, 'eu', { locationHint: 'weur' }]));
		expect(config.jurisdiction).toBe('eu');
		const { sessions } = config;
		expect(sessions.idFromString(sessions.newUniqueId().toString()).toString()).toHaveLength(64);
	});

	test('say in the export of a session where it lives', async () => {
		const id = await createSession();
		const { env } = deploy({ JURISDICTION: 'eu' });
		const text = await runInDurableObject(readObject(id), async (_, ctx) => {
			const caller = { owner: 'local', role: 'admin', by: localIdentity.by } as const;
			return new Response(takeValue(await new Session(ctx, env).export(caller, 'json'))).text();
		});
		expect(JSON.parse(text)).toMatchObject({ session: { id, jurisdiction: 'eu' } });
	});

	test('live anywhere without the variables, also if these are empty', () => {
		for (const more of [{}, { JURISDICTION: '', LOCATION_HINT: ' ' }]) {
			const { env, placed } = deploy(more);
			const config = readConfig(env);
			for (const field of fields) config[field].get(config[field].idFromName('someone'));
			expect(placed).toEqual(names.map((name) => [name, undefined, undefined]));
		}
	});

	test('live here on a laptop, whose runtime has no jurisdictions', () => {
		const { env, placed } = deploy({ JURISDICTION: 'eu', LOCAL: 's'.repeat(40) });
		readConfig(env).sessions.get(env.SESSIONS.newUniqueId());
		expect(placed).toEqual([['SESSIONS', undefined, undefined]]);
	});

	test.each([
		['JURISDICTION', 'moon', /^JURISDICTION: must be one of eu, us, fedramp, fedramp-high/],
		['LOCATION_HINT', 'paris', /^LOCATION_HINT: must be one of wnam, /],
	])('%s may not be %s', (name, value, message) => {
		expect(() => readConfig(deploy({ [name]: value }).env)).toThrow(message);
	});
});
