import { env } from 'cloudflare:test';
import type { SourceName } from '../../../../../src/cloudflare/wire/protocols/webhooks/index.ts';
import worker from '../../../../worker.ts';
import { senders } from './senders.ts';

export interface Given {
	readonly source?: SourceName;
	readonly agent?: string;
	readonly id?: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly without?: readonly string[];
}

export function deliver(
	payload: unknown,
	{ source = 'hmac', agent = 'hooked', id = crypto.randomUUID(), headers = {}, without = [] }: Given = {},
): Promise<Response> {
	const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
	const { secret, headers: sign } = senders[source];
	const signed = sign(body, { id, at: Math.floor(Date.now() / 1_000), secrets: [secret] });
	return post(`/v1/webhooks/${agent}/${source}`, body, { ...signed, ...headers }, without);
}

/** Posts a body with only these headers. */
export async function post(
	path: string,
	body: BodyInit,
	headers: Readonly<Record<string, string>>,
	without: readonly string[] = [],
): Promise<Response> {
	const bindings = { ...env, ...Object.fromEntries(without.map((name) => [name, undefined])) };
	return worker.request(`http://localhost${path}`, { method: 'POST', body, headers: { ...headers } }, bindings);
}

export interface Taken {
	readonly sessionId: string;
	readonly runId: string;
}
