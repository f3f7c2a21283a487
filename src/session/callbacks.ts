import type { TerminalEvent } from '../chat/index.ts';
import type { Config } from '../config.ts';
import { messageOf } from '../errors.ts';
import { assertPublicUrl } from '../net/public-url.ts';
import { retryDelay, signedHeaders } from '../webhooks/callback.ts';
import { pastRun } from './past.ts';
import type { Callback } from './rows/callback.ts';
import { runStatusOf } from './status.ts';
import type { SessionStore } from './store.ts';

/** How long a receiver may take, in milliseconds. */
const timeoutMs = 15_000;
/** Callbacks that are sent at once. */
const atOnce = 6;

/**
 * Tells who asked for it how a run ended (README, "Webhooks"): signed as Standard Webhooks has it, at least once, under the
 * same id each time. What is not delivered stands in the store, and the object's alarm comes back for it.
 */
export class Callbacks {
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** Makes the attempts that are due. Never rejects. */
	async send(): Promise<void> {
		await Promise.all(this.#store.callbacks.due(Date.now(), atOnce).map((callback) => this.#attempt(callback)));
	}

	async #attempt(callback: Callback): Promise<void> {
		const { id, failed } = callback;
		const status = await this.#post(callback).catch((cause: unknown) => {
			log('callback_failed', callback, { cause: messageOf(cause) });
			return undefined;
		});
		// The session may have been removed meanwhile.
		if (!this.#store.exists()) return;
		const isDelivered = status !== undefined && status >= 200 && status < 300;
		const delay = isDelivered || status === 410 ? undefined : retryDelay(failed + 1);
		if (delay !== undefined) this.#store.callbacks.retry(id, Date.now() + delay);
		else {
			if (!isDelivered) log('callback_given_up', callback, { status });
			this.#store.callbacks.remove(id);
		}
	}

	async #post(callback: Callback): Promise<number> {
		const { local, callbackSecrets } = this.#config();
		const url = assertPublicUrl(callback.url, { allowLoopback: local });
		const body = JSON.stringify(await this.#outcome(callback));
		const signed = await signedHeaders(body, { id: callback.id, secrets: callbackSecrets(), now: Date.now() });
		const response = await fetch(url, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': 'runlet', ...signed },
			body,
			redirect: 'manual',
			signal: AbortSignal.timeout(timeoutMs),
		});
		await response.body?.cancel();
		return response.status;
	}

	/** What is sent: how the run ended, as its last event has it. */
	async #outcome({ run, runId }: Callback): Promise<object> {
		const { id: sessionId, agent, metadata, createdAt } = this.#store.session();
		const past = pastRun(this.#store, run);
		const event: TerminalEvent = (await past?.ended) ?? { type: 'cancelled' };
		const { type, ...outcome } = event;
		const timestamp = new Date(this.#store.runs.get(run)?.endedAt ?? createdAt).toISOString();
		const data = { sessionId, runId, agent, status: runStatusOf(event), ...(metadata && { metadata }), ...outcome };
		return { type: `run.${words[type]}`, timestamp, data };
	}
}

const words: Readonly<Record<TerminalEvent['type'], string>> = {
	done: 'completed',
	awaiting: 'awaiting',
	halted: 'halted',
	cancelled: 'cancelled',
	error: 'failed',
};

function log(code: string, { id, runId, failed }: Callback, about: Readonly<Record<string, unknown>>): void {
	console.warn(JSON.stringify({ level: 'warn', code, callback: id, run: runId, failed, ...about }));
}
