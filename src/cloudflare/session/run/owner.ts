import { RunletError } from '../../../core/errors.ts';
import { withTimeLimit } from '../../../core/time-limit.ts';
import { type BudgetState, isBounded } from '../../budget/budget.ts';
import type { Config } from '../../config.ts';
import { log, toFailureFields } from '../../log.ts';
import { askLedger } from '../../rpc/ask-ledger.ts';
import { usualLimitMs } from '../../rpc/reach.ts';
import type { SessionStore } from '../store/store.ts';
import type { OwnerLedger } from './meter.ts';
import { Outbox } from './outbox.ts';

/** How long who looks at a session waits for where the day stands, in milliseconds. */
const dayLimitMs = 2_000;

/** What a session has to do with its owner's objects: the ledger of what is spent, and the list of sessions. */
export class Owner {
	readonly outbox: Outbox;
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
		this.outbox = new Outbox(store, config);
	}

	/** The owner's ledger, and what may be spent in a day. */
	ledger(): OwnerLedger {
		const { ledgers, findDayBudget } = this.#config();
		const { owner } = this.#store.session();
		const ledger = () => ledgers.get(ledgers.idFromName(owner));
		return { limit: findDayBudget(owner), ledger, settleUp: () => this.#settleUp() };
	}

	/** Tells the ledger what it is owed; what takes longer than a call may take goes on behind who waits. */
	async #settleUp(): Promise<void> {
		try {
			await withTimeLimit(this.outbox.sendTo('ledger'), usualLimitMs, 'The ledger of this key');
		} catch (cause) {
			if (!(cause instanceof RunletError && cause.code === 'timeout')) throw cause;
			log('warn', 'owner.not_told', toFailureFields(cause));
		}
	}

	/** Where the owner's day stands; nothing where it has no limit, or where the ledger cannot be asked now. */
	async day(): Promise<BudgetState | undefined> {
		const owner = this.ledger();
		if (!isBounded(owner.limit)) return undefined;
		try {
			return await askLedger(owner.ledger, (one) => one.state(owner.limit), dayLimitMs);
		} catch (cause) {
			log('warn', 'ledger.not_read', toFailureFields(cause));
			return undefined;
		}
	}
}

/** Lets work go on that nothing waits for; a failure is logged. */
export function runInBackground(work: () => Promise<void>): void {
	const failed = (cause: unknown): void => log('warn', 'owner.not_told', toFailureFields(cause));
	try {
		work().catch(failed);
	} catch (cause) {
		failed(cause);
	}
}
