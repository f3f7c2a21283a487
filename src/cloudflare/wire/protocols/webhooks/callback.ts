import { joinBytes, toBase64 } from '../../../../core/base/bytes.ts';
import { sign } from './signature.ts';
import { standardKey } from './standard.ts';

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

/** The delays between attempts that Standard Webhooks recommends, over three days. */
const delays = [
	5 * seconds,
	5 * minutes,
	30 * minutes,
	...[2, 5, 10, 14, 20, 24].map((count) => count * hours),
] as const;

/** Returns the milliseconds until the next attempt, or undefined after the last. */
export function retryDelay(failed: number): number | undefined {
	const delay = delays[failed - 1];
	// A random part spreads the load of the retries on a receiver that was down.
	return delay === undefined ? undefined : Math.round(delay * (1 + Math.random() / 10));
}

export interface SigningOptions {
	/** The id of the delivery. It is the same for each attempt, so the receiver recognises a repeat. */
	readonly id: string;
	/** Each secret makes one signature. There are several secrets while the receiver changes its secret. */
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
