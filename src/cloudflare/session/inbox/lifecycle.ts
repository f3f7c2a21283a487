import type { Right } from '../../auth/rights.ts';
import { log, toFailureFields } from '../../log.ts';
import { type RpcResult, toRpcResult } from '../../objects/result.ts';
import type { Caller } from '../../objects/session-api.ts';
import { toPauseMs } from '../run/next.ts';
import { runInBackground } from '../run/owner.ts';
import type { Runner } from '../run/runner.ts';
import type { SessionStore } from '../store/store.ts';
import type { Authorization, Principal } from './authorization.ts';

interface LifecycleOptions {
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly authorization: Authorization;
}

/** The lifecycle of a session's object: its restart, its alarm and its removal. */
export class Lifecycle {
	readonly #options: LifecycleOptions;
	/** Whether this instance has continued the work of an earlier instance. */
	#isAwake = false;
	#hasAlarm = false;

	constructor(options: LifecycleOptions) {
		this.#options = options;
		try {
			this.#wake();
		} catch (cause) {
			// Each request and the alarm try again.
			log('error', 'session.not_awake', toFailureFields(cause));
		}
	}

	/** Answers a request. Never rejects. */
	answer<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
		return toRpcResult(async () => {
			this.#wake();
			this.#renewAlarm();
			return work();
		});
	}

	enter<T>(
		caller: Caller,
		rights: readonly Right[],
		work: (principal: Principal) => T | Promise<T>,
		agent?: string,
	): Promise<RpcResult<T>> {
		return this.answer(async () => work(await this.#options.authorization.open(caller, rights, agent)));
	}

	/** Like `enter`, for a change. Only its parent changes a child session. */
	change<T>(caller: Caller, rights: readonly Right[], work: () => T | Promise<T>): Promise<RpcResult<T>> {
		return this.enter(caller, rights, () => {
			this.#options.authorization.assertMayChange(caller);
			return work();
		});
	}

	/** Cancels all work and removes the session. Refuses callers meanwhile. */
	async remove(): Promise<void> {
		const { authorization, runner } = this.#options;
		authorization.isClosed = true;
		try {
			await runner.remove();
		} finally {
			authorization.isClosed = false;
		}
	}

	async handleAlarm(): Promise<void> {
		const { runner, store } = this.#options;
		store.alarm.noteGone();
		try {
			this.#wake();
			const { action } = await runner.handleAlarm();
			if (action.type === 'remove') await this.remove();
			if (action.type === 'clear') await runner.owner.outbox.sendRest();
		} catch (cause) {
			// The platform repeats a throwing alarm only a few times.
			log('error', 'session.alarm_failed', toFailureFields(cause));
			// If setting it fails, too, the next request sets the alarm.
			this.#hasAlarm = false;
			await store.alarm.set(Date.now() + toPauseMs(cause));
		}
	}

	/** Continues the work of an earlier instance, once. Throws if the storage fails. */
	#wake(): void {
		if (this.#isAwake) return;
		const { store } = this.#options;
		store.open();
		store.reports.noteListedBytes(store.bytes);
		// An import cannot continue in another instance.
		if (store.isImporting) store.erase(Date.now());
		this.#options.runner.goOn();
		this.#isAwake = true;
	}

	#renewAlarm(): void {
		if (this.#hasAlarm) return;
		this.#hasAlarm = true;
		runInBackground(async () => {
			this.#hasAlarm = await this.#options.runner.alarm.renew();
		});
	}
}
