import type { Config } from '../config.ts';
import { askDirectory } from '../directory/ask.ts';
import { askLedger } from '../ledger/ask.ts';
import type { BudgetState } from '../ledger/budget.ts';
import { failureFields, log } from '../log.ts';
import { type OwnerLedger, tellOwner } from './meter.ts';
import type { SessionStore } from './store.ts';

/** How long who looks at a session waits for where the day stands, in milliseconds. */
const dayLimitMs = 2_000;

/** What a session has to do with its owner's objects: the ledger of what is spent, and the list of sessions. */
export class Owner {
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** The owner's ledger, where the owner's days have a limit. */
	ledger(): OwnerLedger | undefined {
		const { ledgers, dayBudgetOf } = this.#config();
		const { owner } = this.#store.session();
		const dayBudget = dayBudgetOf(owner);
		if (dayBudget.tokens === undefined && dayBudget.usd === undefined) return undefined;
		return { limit: dayBudget, ledger: () => ledgers.get(ledgers.idFromName(owner)) };
	}

	/** Where the owner's day stands; nothing where it has no limit, or where the ledger cannot be asked now. */
	async day(): Promise<BudgetState | undefined> {
		const owner = this.ledger();
		if (owner === undefined) return undefined;
		try {
			return await askLedger(owner.ledger, (one) => one.state(owner.limit), dayLimitMs);
		} catch (cause) {
			log('warn', 'ledger.not_read', failureFields(cause));
			return undefined;
		}
	}

	/** Tells the ledger what was spent; what it does not get now it gets before the next request. */
	async settleUp(): Promise<void> {
		const ledger = this.ledger();
		if (ledger !== undefined) await tellOwner(this.#store, ledger);
	}

	/** Tells the list of sessions of an activity: once a run. */
	async list(): Promise<void> {
		const { id, agent, owner, title, createdAt } = this.#store.session();
		const entry = { id, agent, createdAt, activeAt: Date.now(), ...(title !== undefined && { title }) };
		await askDirectory(this.#config().directories, owner, (one) => one.touch(entry, owner));
	}

	/** Takes the session off the list. */
	async unlist(): Promise<void> {
		const { id, owner } = this.#store.session();
		await askDirectory(this.#config().directories, owner, (one) => one.remove(id));
	}
}

/** Lets work go on that nothing waits for; a failure is logged. */
export function inBackground(work: () => Promise<void>): void {
	const failed = (cause: unknown): void => log('warn', 'owner.not_told', failureFields(cause));
	try {
		work().catch(failed);
	} catch (cause) {
		failed(cause);
	}
}
