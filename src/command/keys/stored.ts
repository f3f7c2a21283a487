import * as v from 'valibot';
import { ClientError } from '../../client/error.ts';
import { createHttp, type Http } from '../../client/http.ts';
import type { KeyOptions } from '../../cloudflare/auth/key.ts';
import { keyList, newKey } from '../../cloudflare/wire/key.ts';

/** A deployed Worker, and a key of it with the scope `keys` (to list: `admin`). */
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

/** Asks a Worker. A request that makes a key is not repeated by itself, because each makes another. */
async function ask<T>({ url, apiKey }: Place, request: (http: Http) => Promise<T>): Promise<T> {
	try {
		return await request(createHttp({ baseUrl: url, apiKey, retries: 0 }));
	} catch (error) {
		throw error instanceof ClientError ? new TypeError(`${url}: ${error.message}`, { cause: error }) : error;
	}
}
