import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import type { DecisionLinks } from '../../objects/link-api.ts';
import type { Callback } from '../store/outbox.ts';
import type { SessionStore } from '../store/store.ts';

/** @internal A session whose callback is made. */
interface CallbackSession {
	readonly runtime: Pick<Runtime, 'agents'>;
	readonly store: SessionStore;
	readonly config: () => Config;
}

/** The part of `runlet/cloudflare/links` that callbacks use. */
export interface CallbackLinks {
	/**
	 * @internal Makes the links to decide about the calls that wait, by their ids; nothing for a callback that is to have none.
	 *
	 * @param since when the run began to wait, in milliseconds since 1970
	 */
	createForCallback(
		session: CallbackSession,
		callback: Callback,
		since: number,
	): Promise<Readonly<Record<string, DecisionLinks>> | undefined>;
}
