import { env } from 'cloudflare:test';
import { hashKey, type KeyRecord, makeKey } from '../src/cloudflare/auth/key.ts';

/** The scopes of a key, or fields of its record. Default owner: the name of the key. */
type KeyOptions = KeyRecord['scopes'] | Partial<Pick<KeyRecord, 'owner' | 'user' | 'role' | 'scopes'>>;

/**
 * Creates keys by their names, and an environment that accepts them. A list of scopes makes a key of the owner with that
 * name.
 */
export async function createKeys<const N extends string>(
	optionsOf: Readonly<Record<N, KeyOptions>>,
	more: object = {},
): Promise<{ readonly keys: Readonly<Record<N, string>>; readonly bindings: Record<string, unknown> }> {
	const keys: Partial<Record<string, string>> = {};
	const records: KeyRecord[] = [];
	for (const [name, options] of Object.entries<KeyOptions>(optionsOf)) {
		const { key, id } = makeKey();
		keys[name] = key;
		const given = 'length' in options ? { scopes: options } : options;
		records.push({ id, owner: name, scopes: ['run'], ...given, hash: await hashKey(key) });
	}
	return {
		keys: keys as Readonly<Record<N, string>>,
		bindings: { ...env, LOCAL: 'false', RATE_LIMITER: undefined, API_KEYS: JSON.stringify(records), ...more },
	};
}
