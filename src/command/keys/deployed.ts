import * as v from 'valibot';
import { ClientError } from '../../client/error.ts';
import { createHttp, type Http } from '../../client/http.ts';
import type { KeyOptions } from '../../cloudflare/auth/key.ts';
import { keyList, newKey } from '../../cloudflare/wire/key.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { type Target, targetOptions, wrangler } from '../wrangler.ts';
import { changeKeys, type Keys, listHash, toSecret } from './file.ts';

const secretNames = v.array(v.object({ name: v.string() }));

/** Whether a deployed Worker has keys. A Worker that does not exist has none. */
export async function hasRemoteKeys(target: Target): Promise<boolean> {
	try {
		const printed = await wrangler(['secret', 'list', '--format', 'json', ...targetOptions(target)]);
		return v.parse(secretNames, JSON.parse(printed)).some(({ name }) => name === 'API_KEYS');
	} catch (error) {
		if (/Worker "[^"]*" not found|\b(10007|10090)\b/.test(toMessageText(error))) return false;
		throw error;
	}
}

/** Whether the last list that this folder uploaded to a deployed Worker is the current list. */
export function isPushed({ keys, remotes }: Keys, { env = '' }: Target): boolean {
	return remotes[env]?.list === listHash(keys);
}

/**
 * Uploads the list to a deployed Worker. The new list is valid within seconds. Throws if the Worker has keys from
 * elsewhere, which cannot be read and would be lost. With `replace` such keys are replaced.
 */
export async function pushKeys(file: string, keys: Keys, target: Target, { replace = false } = {}): Promise<void> {
	const secret = toSecret(keys.keys);
	await assertOwnKeys(keys, target, replace);
	await wrangler(['secret', 'put', 'API_KEYS', ...targetOptions(target)], { input: secret });
	await recordPush(file, keys, target);
}

/** Throws if a deployed Worker has keys that are not in this folder. */
async function assertOwnKeys({ remotes }: Keys, target: Target, replace: boolean): Promise<void> {
	if (replace || remotes[target.env ?? '']?.list !== undefined || !(await hasRemoteKeys(target))) return;
	throw new Error(
		'The deployed Worker has keys that were not made here, and this list would replace them. Use the keys.json that has them, or add --replace.',
	);
}

/** Stores that a deployed Worker has the list. */
export async function recordPush(file: string, { keys }: Keys, { env = '' }: Target, url?: string): Promise<void> {
	await changeKeys(file, (now) => {
		const remote = { ...now.remotes[env], list: listHash(keys), url };
		return { ...now, remotes: { ...now.remotes, [env]: remote } };
	});
}

/** The address of a deployed Worker, and an API key with the scope `keys` (for listing: `admin`). */
export interface Place {
	readonly url: string;
	readonly apiKey: string | undefined;
}

type ListedKey = v.InferOutput<typeof keyList>['keys'][number];

export async function makeStoredKey(place: Place, body: KeyOptions): Promise<v.InferOutput<typeof newKey>> {
	return v.parse(newKey, await ask(place, (http) => http.json<unknown>('/v1/keys', { method: 'POST', body })));
}

export async function listStoredKeys(place: Place): Promise<readonly ListedKey[]> {
	const { keys } = v.parse(keyList, await ask(place, (http) => http.json<unknown>('/v1/keys')));
	return keys.filter(({ isStored }) => isStored);
}

export async function revokeStoredKey(place: Place, id: string): Promise<void> {
	await ask(place, (http) => http.remove(`/v1/keys/${encodeURIComponent(id)}`));
}

/** Sends a request to a Worker. Never retries it, because a repeated request to make a key makes a second key. */
async function ask<T>({ url, apiKey }: Place, request: (http: Http) => Promise<T>): Promise<T> {
	try {
		return await request(createHttp({ baseUrl: url, apiKey, retries: 0 }));
	} catch (error) {
		throw error instanceof ClientError ? new TypeError(`${url}: ${error.message}`, { cause: error }) : error;
	}
}
