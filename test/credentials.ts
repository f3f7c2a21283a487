import { env } from 'cloudflare:test';
import { hashKey, type KeyRecord, makeKey } from '../src/cloudflare/auth/key.ts';

/** Creates keys for owners with the given scopes, and an environment that accepts them. */
export async function createKeys<const N extends string>(
	scopesOf: Readonly<Record<N, KeyRecord['scopes']>>,
	more: object = {},
): Promise<{ readonly keys: Readonly<Record<N, string>>; readonly bindings: Record<string, unknown> }> {
	const keys: Partial<Record<string, string>> = {};
	const records: KeyRecord[] = [];
	for (const [owner, scopes] of Object.entries<KeyRecord['scopes']>(scopesOf)) {
		const { key, id } = makeKey();
		keys[owner] = key;
		records.push({ id, owner, hash: await hashKey(key), scopes });
	}
	return {
		keys: keys as Readonly<Record<N, string>>,
		bindings: { ...env, LOCAL: 'false', RATE_LIMITER: undefined, API_KEYS: JSON.stringify(records), ...more },
	};
}
