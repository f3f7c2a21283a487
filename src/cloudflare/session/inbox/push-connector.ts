import { createMissing } from '../../objects/missing.ts';
import type { Caller, ReceiverChange } from '../../objects/session-api.ts';
import type { PushConfig } from '../../wire/protocols/a2a/params.ts';
import type { TaskUpdates } from '../run/prepare.ts';
import type { InboxContext } from './transaction.ts';

/**
 * The part of `runlet/cloudflare/a2a` that a session uses. A Worker without `createRunlet({ plugins: [a2a] })` does not
 * bundle it.
 */
export interface PushConnector extends TaskUpdates {
	/** @internal Changes and lists where the updates of a run's task are posted. */
	change(
		session: InboxContext,
		caller: Caller,
		about: { readonly run: number; readonly change: ReceiverChange | undefined },
	): Promise<readonly PushConfig[]>;
}

/** Throws `not_found` in a Worker without A2A. The message says how to add it. */
export function takePush(push: PushConnector | undefined): PushConnector {
	if (push !== undefined) return push;
	throw createMissing('a2a');
}
