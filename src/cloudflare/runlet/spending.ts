import type { Env } from '../../core/base/env.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { publicFetch } from '../../core/base/public-fetch.ts';
import type { Config } from '../config/config.ts';
import { type LogFields, log, toFailureFields } from '../log.ts';
import type { AlertSender, OutgoingAlert, SpendingAlert } from '../objects/ledger/spending-alert.ts';
import { retryDelay, signHeaders } from '../wire/protocols/webhooks/callback.ts';

/** Called once for each spent share of a budget. If it throws, or takes too long, it is called again later. */
export type OnSpending = (alert: SpendingAlert, env: Env) => unknown;

/** How long a receiver may take, in milliseconds. */
const timeoutMs = 15_000;
/** The maximum size of a response in bytes. Its content is ignored. */
const maxBytes = 1_000;

type Deliver = (outgoing: OutgoingAlert) => Promise<number>;

/**
 * Makes the function that delivers alerts about spending. It calls `onSpending`, and posts to `SPENDING_CALLBACK`,
 * signed like callbacks. Returns undefined if neither is set.
 */
export function createAlertSender(onSpending: OnSpending | undefined, config: Config): AlertSender | undefined {
	const { spendingCallback: url } = config;
	const ways: Readonly<Record<string, Deliver | undefined>> = {
		function: onSpending && (({ alert }) => call(onSpending, alert, config.env)),
		callback: url === undefined ? undefined : (outgoing) => post(url, outgoing, config),
	};
	const receivers = Object.keys(ways).filter((name) => ways[name] !== undefined);
	if (receivers.length === 0) return undefined;
	return {
		receivers,
		send: async (outgoing) => {
			const { receiver, failed } = outgoing;
			const status = await ways[receiver]?.(outgoing).catch((cause: unknown) => {
				tell('failed', outgoing, toFailureFields(cause));
				return undefined;
			});
			if (status !== undefined && status >= 200 && status < 300) return undefined;
			const delayMs = status === 410 ? undefined : retryDelay(failed + 1);
			if (delayMs === undefined) tell('given_up', outgoing, { 'http.response.status_code': status });
			return delayMs;
		},
	};
}

async function call(onSpending: OnSpending, alert: SpendingAlert, env: Env): Promise<number> {
	await withTimeLimit(Promise.resolve(onSpending(alert, env)), timeoutMs, 'onSpending');
	return 204;
}

async function post(url: string, { id, alert }: OutgoingAlert, config: Config): Promise<number> {
	const now = Date.now();
	const body = JSON.stringify({ type: 'spending.alert', timestamp: new Date(now).toISOString(), data: alert });
	const signed = await signHeaders(body, { id, secrets: config.findCallbackSecrets(), now });
	const headers = { 'content-type': 'application/json', 'user-agent': 'runlet', ...signed };
	const response = await publicFetch(
		url,
		{ method: 'POST', headers, body },
		{
			...{ allowLoopback: config.local !== undefined, field: 'SPENDING_CALLBACK', maxRedirects: 0 },
			...{ maxBytes, timeoutMs },
		},
	);
	await response.body?.cancel();
	return response.status;
}

function tell(what: 'failed' | 'given_up', { alert }: OutgoingAlert, about: LogFields): void {
	log('warn', `spending_alert.${what}`, { 'runlet.owner': alert.owner, ...about });
}
