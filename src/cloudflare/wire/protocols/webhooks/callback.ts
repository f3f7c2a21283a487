import { joinBytes, toBase64 } from '../../../../core/ground/bytes.ts';
import { sign } from './signature.ts';
import { standardKey } from './standard.ts';

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

/** The schedule of Standard Webhooks, over three days: how long after each failed attempt the next one is made. */
const delays = [
	5 * seconds,
	5 * minutes,
	30 * minutes,
	...[2, 5, 10, 14, 20, 24].map((count) => count * hours),
] as const;

/** Milliseconds until the next try, after this many failures. `undefined` after the last. */
export function retryDelay(failed: number): number | undefined {
	const delay = delays[failed - 1];
	// A random part, so that a receiver that was down does not get everything at once.
	return delay === undefined ? undefined : Math.round(delay * (1 + Math.random() / 10));
}

/** The secrets and the time for signing a callback. */
export interface SigningOptions {
	/** The same at each try, so that the receiver recognises a repeat. */
	readonly id: string;
	/** Each makes one signature. There are several while the receiver changes its secret. */
	readonly secrets: readonly string[];
	/** Milliseconds since 1970. */
	readonly now: number;
}

/** Makes the headers of an outgoing webhook (Standard Webhooks 1.0). */
export async function signHeaders(body: string, { id, secrets, now }: SigningOptions) {
	const time = String(Math.floor(now / 1_000));
	const content = joinBytes(`${id}.${time}.${body}`);
	const signatures = await Promise.all(
		secrets.map(async (secret) => `v1,${toBase64(await sign(content, standardKey(secret, 'CALLBACK_SECRET')))}`),
	);
	return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures.join(' ') };
}
