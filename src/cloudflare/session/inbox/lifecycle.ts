import type { Right } from '../../auth/rights.ts';
import { log, toFailureFields } from '../../log.ts';
import { type RpcResult, toRpcResult } from '../../objects/result.ts';
import type { Caller } from '../../objects/session-api.ts';
import { toPauseMs } from '../run/next.ts';
import { runInBackground } from '../run/owner.ts';
import type { Runner } from '../run/runner.ts';
import type { SessionStore } from '../store/store.ts';
import type { Authorization, Principal } from './authorization.ts';

/** The parts of a session's object. */
interface LifecycleOptions {
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly authorization: Authorization;
}

/** The lifecycle of a session's object: takes up the work of an earlier instance, keeps the alarm, and removes the session. */
export class Lifecycle {
	readonly #options: LifecycleOptions;
	/** Whether the work of an earlier instance was taken up. */
	#isAwake = false;
	/** Whether the alarm is set, as far as this instance knows. */
	#hasAlarm = false;

	constructor(options: LifecycleOptions) {
		this.#options = options;
		try {
			this.#wake();
		} catch (cause) {
			// Each request and the alarm try it again.
			log('error', 'session.not_awake', toFailureFields(cause));
		}
	}

	/** Answers a request. Throws nothing. */
	answer<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
		return toRpcResult(async () => {
			this.#wake();
			this.#renewAlarm();
			return work();
		});
	}

	/**
	 * Answers a caller who has these rights.
	 *
	 * @param agent the agent that a page names
	 */
	enter<T>(
		caller: Caller,
		rights: readonly Right[],
		work: (principal: Principal) => T | Promise<T>,
		agent?: string,
	): Promise<RpcResult<T>> {
		return this.answer(async () => work(await this.#options.authorization.open(caller, rights, agent)));
	}

	/** The same for a change. A child session is changed by its parent only. */
	change<T>(caller: Caller, rights: readonly Right[], work: () => T | Promise<T>): Promise<RpcResult<T>> {
		return this.enter(caller, rights, () => {
			this.#options.authorization.assertMayChange(caller);
			return work();
		});
	}

	/** Stops what runs and removes the session. Nobody may enter meanwhile. */
	async remove(): Promise<void> {
		const { authorization, runner } = this.#options;
		authorization.isClosed = true;
		try {
			await runner.remove();
		} finally {
			authorization.isClosed = false;
		}
	}

	/** Does what the alarm is for. It comes again if that fails. */
	async handleAlarm(): Promise<void> {
		const { runner, store } = this.#options;
		store.alarm.noteGone();
		try {
			this.#wake();
			const { action } = await runner.handleAlarm();
			if (action.type === 'remove') await this.remove();
			if (action.type === 'clear') await runner.owner.outbox.sendRest();
		} catch (cause) {
			// An alarm that throws is tried a few times only; this one has to come again.
			log('error', 'session.alarm_failed', toFailureFields(cause));
			// Where this fails, too, the platform tries this one a few times more; then the next request sets it again.
			this.#hasAlarm = false;
			await store.alarm.set(Date.now() + toPauseMs(cause));
		}
	}

	/** Takes up the work of an earlier instance, once. Throws where the storage fails. */
	#wake(): void {
		if (this.#isAwake) return;
		const { store } = this.#options;
		store.open();
		store.reports.noteListedBytes(store.bytes);
		// The import ended with the earlier instance.
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
