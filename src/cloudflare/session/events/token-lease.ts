import { refuseToken } from '../../auth/token.ts';
import type { Config } from '../../config/config.ts';
import type { TokenGrant } from '../../objects/session-api.ts';
import type { Lease } from './follow.ts';

/** The tokens that were revoked since this instance began, in order, and the open streams of all tokens. */
export class Revocations {
	readonly ids = new Set<string>();
	readonly #streams = new Map<string, Set<() => void>>();

	/** Notes a revoked token, and ends its streams. */
	add(id: string): void {
		this.ids.add(id);
		for (const wake of this.#streams.get(id) ?? []) wake();
	}

	/** Calls `wake` when a token is revoked. Call the returned function to stop watching. */
	watch(id: string, wake: () => void): () => void {
		const streams = this.#streams.get(id) ?? new Set();
		this.#streams.set(id, streams.add(wake));
		return () => {
			streams.delete(wake);
			if (streams.size === 0 && this.#streams.get(id) === streams) this.#streams.delete(id);
		};
	}
}

/** Returns the permission that a token gives: until it expires, is revoked, or its key is revoked. */
export function createLease(grant: TokenGrant, config: () => Config, revocations: Revocations): Lease {
	const { id, keyId, expiresAt } = grant;
	const left = () => expiresAt * 1_000 - Date.now();
	const ended = () => {
		if (left() <= 0) return refuseToken('has expired');
		if (revocations.ids.has(id)) return refuseToken('was revoked');
		const { storedKeys, knowsKey } = config();
		// The next check of the stream uses the refreshed key.
		storedKeys?.refreshKey(keyId).catch(() => {});
		return knowsKey(keyId) ? undefined : refuseToken('came from a key that was revoked');
	};
	return { grant, left, ended, watch: (wake) => revocations.watch(id, wake) };
}
