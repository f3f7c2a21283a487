import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { createKey, isOver, type KeyRecord } from '../auth/key.ts';
import { readConfig } from '../config/config.ts';
import type { StoredKeys } from '../objects/directory/stored-keys.ts';
import * as endpoints from '../wire/endpoints/keys.ts';
import type { listedKey } from '../wire/key.ts';
import type { Shown } from '../wire/operation.ts';
import type { RouteEnv } from './identity.ts';
import { mount } from './request.ts';

/** `/v1/keys`: lists all keys of the Worker, and makes and revokes stored keys (docs/keys.md). */
export const keyRoutes = [
	mount(endpoints.listKeys, async (c) => {
		const { keys: secret, storedKeys } = readConfig(c.env);
		const stored = (await storedKeys?.list()) ?? [];
		const listed = [
			...secret.map((record) => toListed(record, false)),
			...stored.map((record) => toListed(record, true)),
		];
		return c.json({ keys: listed });
	}),
	mount(endpoints.makeKey, async (c) => {
		const storedKeys = findStoredKeys(c);
		const { key, record } = await createKey(c.req.valid('json'));
		await storedKeys.add(record);
		return c.json({ ...toListed(record, true), key }, 201, { 'cache-control': 'no-store' });
	}),
	mount(endpoints.revokeKey, async (c) => {
		const id = c.req.param('keyId');
		if (readConfig(c.env).keys.some((key) => key.id === id))
			throw new RunletError(
				'conflict',
				`The key ${id} is in the secret. Revoke it: npm run keys -- revoke ${id} --remote`,
			);
		if (!(await findStoredKeys(c).remove(id))) throw new RunletError('not_found', 'There is no such key.');
		return c.body(null, 204);
	}),
];

function findStoredKeys(c: Context<RouteEnv>): StoredKeys {
	const { storedKeys } = readConfig(c.env);
	if (storedKeys !== undefined) return storedKeys;
	throw new RunletError(
		'not_configured',
		'STORED_KEYS: not set, so this Worker stores no keys. Set it to on under [vars] in wrangler.toml.',
	);
}

function toListed(record: KeyRecord, isStored: boolean): Shown<typeof listedKey> {
	const { id, name, owner, user, role = 'admin', scopes, budget, rate, expiresAt } = record;
	const about = { id, name, owner, user, role, scopes: [...scopes], budget, rate, expiresAt };
	return { ...about, isOver: isOver(record), isStored };
}
