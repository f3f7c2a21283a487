import type { Context } from 'hono';
import { hashText } from '../../core/base/bytes.ts';
import { RunletError } from '../../core/base/errors.ts';
import { assertPublicUrl } from '../../core/base/public-fetch.ts';
import type { TerminalEvent } from '../../core/chat/index.ts';
import { readConfig } from '../config/config.ts';
import type { RouteEnv } from '../routes/identity.ts';
import type { PushConnector } from '../session/inbox/push-connector.ts';
import { showRun } from '../session/ui/show.ts';
import { createRpcError } from '../wire/protocols/a2a/error.ts';
import type { PushConfig } from '../wire/protocols/a2a/params.ts';
import { showEnded } from '../wire/protocols/a2a/show.ts';
import { signHeaders } from '../wire/protocols/webhooks/callback.ts';
import { showError } from '../wire/shown-error.ts';

/** A receiver of updates, as a session stores it in the place of the URL of a callback. */
interface Receiver extends PushConfig {
	/** The number of the first run of the task. */
	readonly run: number;
	readonly contextId: string;
}

const mostReceivers = 10;

/** Whether updates can be posted: they are signed with `CALLBACK_SECRET`. */
export function hasReceivers(c: Context<RouteEnv>): boolean {
	try {
		return readConfig(c.env).findCallbackSecrets().length > 0;
	} catch {
		return false;
	}
}

/** Throws `pushNotificationNotSupported` without a secret to sign with. */
export function assertReceivers(c: Context<RouteEnv>): void {
	if (hasReceivers(c)) return;
	throw createRpcError(
		'pushNotificationNotSupported',
		'This agent sends no push notifications: it has no CALLBACK_SECRET.',
	);
}

/** Checks where updates go: to public addresses only. */
export function assertReceiver<C extends PushConfig>(c: Context<RouteEnv>, config: C, field = 'url'): C {
	assertReceivers(c);
	const allowLoopback = readConfig(c.env).local !== undefined;
	return { ...config, url: assertPublicUrl(config.url, { allowLoopback, field }).href };
}

/** Changes and lists the receivers of a task. The credentials of a receiver are not shown. */
export const changeReceivers: PushConnector['change'] = async ({ store, runner, authorization }, caller, about) => {
	const { run, change } = about;
	await authorization.open(caller, [change === undefined ? 'readSession' : 'sendMessage']);
	const { chain } = showRun(store, run);
	const { callbacks } = store;
	const task = `${chain.first} `;
	const list = () => callbacks.listReceivers(task);
	if (change !== undefined) {
		authorization.assertMayTakePart(caller);
		const putId = 'put' in change ? change.put.id || `${store.session().id}-${chain.first}` : undefined;
		store.transaction(() => {
			if ('remove' in change) {
				callbacks.removeReceiver(`${task}${change.remove}`);
				return;
			}
			callbacks.putReceiver(`${task}${putId}`, {
				run: chain.last,
				runId: store.runs.get(chain.last)?.id ?? '',
				url: JSON.stringify({ ...change.put, id: putId, run: chain.first }),
			});
			if (list().length <= mostReceivers) return;
			throw new RunletError('conflict', `A task has at most ${mostReceivers} push notification configs.`);
		});
		void runner.alarm.set();
		if (putId !== undefined)
			return list()
				.map(show)
				.filter(({ id }) => id === putId);
	}
	return list().map(show);

	function show({ url }: { readonly url: string }): PushConfig {
		const { id, url: address, authentication, contextId: _, run: __, token: ___ }: Receiver = JSON.parse(url);
		const scheme = authentication && { authentication: { scheme: authentication.scheme } };
		return { id, taskId: `${store.session().id}-${chain.first}`, url: address, ...scheme };
	}
};

/** Makes a push notification: the task as it stands, signed as Standard Webhooks has it. */
export const createRequest: PushConnector['createRequest'] = async ({ store, config }, callback, event) => {
	const { id, run: last, runId } = callback;
	const { url, token, authentication, run, contextId }: Receiver = JSON.parse(callback.url);
	const session = store.session().id;
	const since = store.runs.get(last)?.endedAt ?? store.session().createdAt;
	const shown: TerminalEvent =
		event.type === 'error' ? { type: 'error', ...showError(event, { isOperator: false, id: runId }) } : event;
	const body = JSON.stringify({ task: showEnded({ session, run, contextId }, shown, last, since) });
	// The same for each attempt, and another one for each update.
	const update = `msg_${hashText(`${session} ${id}`)}_${last}_${event.type}`;
	const signed = await signHeaders(body, { id: update, secrets: config().findCallbackSecrets(), now: Date.now() });
	const headers = {
		'content-type': 'application/a2a+json',
		'user-agent': 'runlet',
		...(token && { 'x-a2a-notification-token': token }),
		...(authentication && { authorization: `${authentication.scheme} ${authentication.credentials ?? ''}`.trim() }),
		...signed,
	};
	return { url, headers, body };
};
