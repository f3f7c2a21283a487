import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import { type BudgetState, isBounded } from '../../objects/budget.ts';
import { askDirectory } from '../../objects/directory/api.ts';
import { askLedger } from '../../objects/ledger/api.ts';
import { assertHeld } from '../../objects/room.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import type { OwnerLedger } from './lease.ts';
import { Outbox } from './outbox.ts';

type Whose = Pick<SessionRecord, 'owner' | 'user'>;

/** How long a request for a session's state waits for the ledger, in milliseconds. */
const dayLimitMs = 2_000;

/** Returns the ledger of an owner, as a session of it or of its user finds it. */
export function findLedger(
	{ ledgers, storedKeys, findDayBudget }: Config,
	{ owner, user }: { readonly owner: string; readonly user?: string },
): Omit<OwnerLedger, 'tellWith'> {
	const ledger = () => ledgers.get(ledgers.idFromName(owner));
	const findLimit = async () => {
		await storedKeys?.refreshOwner(owner);
		return findDayBudget(owner);
	};
	return { findLimit, ledger, owner, user };
}

/** A session's connection to its owner's objects: the ledger and the directory. */
export class Owner {
	readonly outbox: Outbox;
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
		this.outbox = new Outbox(store, config);
	}

	/** Returns the owner's ledger. */
	ledger(): OwnerLedger {
		const { owner } = this.#store.session();
		const tellWith: OwnerLedger['tellWith'] = (call) => this.outbox.tellLedgerWith(owner, call);
		return { ...findLedger(this.#config(), this.#store.session()), tellWith };
	}

	/**
	 * Throws `too_large` where the sessions of the owner or the user hold more than they may. Their list is asked only if it
	 * said so lately, or `always`.
	 */
	async assertRoom(whose: Whose, always = false): Promise<void> {
		const { directories, fullRooms, roomLimits } = this.#config();
		if (!always && !fullRooms.mayBeFull(whose)) return;
		const held = await askDirectory(directories, whose.owner, (one, deadline) => one.readHeld(whose.user, deadline));
		fullRooms.note(whose, held);
		assertHeld(roomLimits, held);
	}

	/** Returns the state of the owner's day; nothing if it has no limit or the ledger cannot be reached. */
	async day(): Promise<BudgetState | undefined> {
		const { ledger, findLimit } = this.ledger();
		try {
			const limit = await findLimit();
			if (!isBounded(limit)) return undefined;
			return await askLedger(ledger, (one, deadline) => one.state(limit, deadline), dayLimitMs);
		} catch (cause) {
			log('warn', 'ledger.not_read', toFailureFields(cause));
			return undefined;
		}
	}
}

/** Starts work that nobody waits for. Logs a failure. */
export function runInBackground(work: () => Promise<void>): void {
	const failed = (cause: unknown): void => log('warn', 'owner.not_told', toFailureFields(cause));
	try {
		work().catch(failed);
	} catch (cause) {
		failed(cause);
	}
}
