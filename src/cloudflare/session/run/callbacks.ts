import { publicFetch } from '../../../core/base/public-fetch.ts';
import type { TerminalEvent } from '../../../core/chat/index.ts';
import { type LogFields, log, toFailureFields } from '../../log.ts';
import { retryDelay, signHeaders } from '../../wire/protocols/webhooks/callback.ts';
import { mayPostAgain, parseReplyTarget, toReplyRequest } from '../../wire/protocols/webhooks/reply.ts';
import { showError } from '../../wire/shown-error.ts';
import { type Callback, isReceiver } from '../store/outbox.ts';
import { toRunStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import type { RunnerOptions } from './prepare.ts';
import { createPastRun } from './run.ts';

/** How long a receiver may take, in milliseconds. */
const timeoutMs = 15_000;
/** The maximum size of a response in bytes. Its body is not used. */
const maxBytes = 1_000;
const atOnce = 6;

/**
 * Sends callbacks (docs/webhooks.md): a run's end as a signed webhook, at least once and always with the same id, or a
 * run's answer to Slack or GitHub. The object's alarm retries failed callbacks.
 */
export class Callbacks {
	readonly #options: RunnerOptions;
	readonly #store: SessionStore;

	constructor(options: RunnerOptions) {
		this.#options = options;
		this.#store = options.store;
	}

	async send(): Promise<void> {
		await Promise.all(this.#store.callbacks.listDue(Date.now(), atOnce).map((callback) => this.#attempt(callback)));
	}

	async #attempt(callback: Callback): Promise<void> {
		const { id, failed } = callback;
		const status = await this.#post(callback).catch((cause: unknown) => {
			tell('callback.failed', callback, toFailureFields(cause));
			return undefined;
		});
		if (!this.#store.exists()) return;
		const isDelivered = status !== undefined && status >= 200 && status < 300;
		const isReply = parseReplyTarget(callback.url) !== undefined;
		const isOver = status !== undefined && (isReply ? !mayPostAgain(status) : status === 410);
		const delay = isDelivered || isOver ? undefined : retryDelay(failed + 1);
		if (delay !== undefined) this.#store.callbacks.retry(id, Date.now() + delay);
		else {
			if (!isDelivered) tell('callback.given_up', callback, { 'http.response.status_code': status });
			const goesOn = isReceiver(callback) && status !== 410 && (await this.#event(callback)).type === 'awaiting';
			if (goesOn) this.#store.callbacks.moveOn(id);
			else this.#store.callbacks.remove(id);
		}
	}

	async #post(callback: Callback): Promise<number> {
		const { local } = this.#options.config();
		const request = await this.#request(callback);
		if (request === undefined) return 204;
		const { url, headers, body } = request;
		const response = await publicFetch(
			url,
			{ method: 'POST', headers, body },
			{ allowLoopback: local !== undefined, field: 'callback', maxRedirects: 0, maxBytes, timeoutMs },
		);
		await response.body?.cancel();
		return response.status;
	}

	/** Returns nothing if there is no answer to post. */
	async #request(callback: Callback) {
		const { findCallbackSecrets, github } = this.#options.config();
		if (isReceiver(callback))
			return this.#options.push?.createRequest(this.#options, callback, await this.#event(callback));
		const target = parseReplyTarget(callback.url);
		if (target !== undefined) {
			const text = replyText(await this.#event(callback), target.kind === 'github');
			return text === undefined ? undefined : toReplyRequest(target, text, github);
		}
		const body = JSON.stringify(await this.#createOutcome(callback));
		const signed = await signHeaders(body, { id: callback.id, secrets: findCallbackSecrets(), now: Date.now() });
		const headers = { 'content-type': 'application/json', 'user-agent': 'runlet', ...signed };
		return { url: callback.url, headers, body };
	}

	async #event({ run }: Callback): Promise<TerminalEvent> {
		return (await createPastRun(this.#store, run)?.ended) ?? { type: 'cancelled' };
	}

	async #createOutcome(callback: Callback): Promise<object> {
		const { run, runId } = callback;
		const { id: sessionId, agent, metadata, createdAt } = this.#store.session();
		const event = await this.#event(callback);
		const { type, ...outcome } = event;
		const endedAt = this.#store.runs.get(run)?.endedAt ?? createdAt;
		const about = { sessionId, runId, agent, status: toRunStatus(event), ...(metadata && { metadata }) };
		const isWaiting = type === 'awaiting';
		const links = isWaiting && (await this.#options.links?.createForCallback(this.#options, callback, endedAt));
		const shown = 'code' in outcome ? showError(outcome, { isOperator: false, id: runId }) : outcome;
		const data = { ...about, ...shown, ...(links && { links }) };
		return { type: `run.${words[type]}`, timestamp: new Date(endedAt).toISOString(), data };
	}
}

/** Returns a run's end as a text for a person. A public comment contains only the agent's own words. */
function replyText(event: TerminalEvent, isComment: boolean): string | undefined {
	if (event.type === 'done') return event.text.trim() || (isComment ? undefined : 'There is no answer.');
	if (event.type === 'awaiting' && event.question !== undefined) return event.question.question;
	if (isComment) return undefined;
	if (event.type === 'awaiting') return 'Somebody has to decide about this first.';
	return event.type === 'error' ? 'That did not work. Try it again in a moment.' : 'This was stopped.';
}

const words: Readonly<Record<TerminalEvent['type'], string>> = {
	done: 'completed',
	awaiting: 'awaiting',
	halted: 'halted',
	cancelled: 'cancelled',
	error: 'failed',
};

function tell(event: string, { runId }: Callback, about: LogFields): void {
	log('warn', event, { 'runlet.run.id': runId, ...about });
}
