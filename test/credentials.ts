import { env } from 'cloudflare:test';
import { hashKey, type KeyRecord, makeKey } from '../src/cloudflare/auth/key.ts';

/**
 * The scopes of a key, or fields of its record. A key without an owner belongs to the owner with the key's name.
 */
type KeyOptions = KeyRecord['scopes'] | Partial<Pick<KeyRecord, 'owner' | 'user' | 'role' | 'scopes'>>;

/**
 * Creates keys by their names, and an environment that accepts them. A key that is given as a list of scopes
 * belongs to the owner with the key's name.
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
