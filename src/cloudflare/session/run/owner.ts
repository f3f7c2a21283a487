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

export function findLedger(
	{ ledgers, storedKeys, findDayBudget }: Config,
	{ owner, user }: Whose,
): Omit<OwnerLedger, 'tellWith'> {
	const ledger = () => ledgers.get(ledgers.idFromName(owner));
	const findLimit = async () => {
		await storedKeys?.refreshOwner(owner);
		return findDayBudget(owner);
	};
	return { findLimit, ledger, owner, user };
}

export class Owner {
	readonly outbox: Outbox;
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
		this.outbox = new Outbox(store, config);
	}

	/** Returns the ledger of the session's owner. Calls to it deliver the outbox, too. */
	ledger(session: Whose, config: Config): OwnerLedger {
		const tellWith: OwnerLedger['tellWith'] = (call) => this.outbox.tellLedgerWith(session.owner, call);
		return { ...findLedger(config, session), tellWith };
	}

	/**
	 * Throws `too_large` if the sessions of the owner or the user hold more bytes than allowed. Asks their directory only
	 * if it reported that lately, or `always`.
	 */
	async assertRoom(
		whose: Whose,
		{ directories, fullRooms, roomLimits }: Config,
		{ always = false } = {},
	): Promise<void> {
		if (!always && !fullRooms.mayBeFull(whose)) return;
		const held = await askDirectory(directories, whose.owner, (one, deadline) => one.readHeld(whose.user, deadline));
		fullRooms.note(whose, held);
		assertHeld(roomLimits, held);
	}

	/** Returns the budget of the owner's day. Returns nothing if it has no limit or the ledger cannot be reached. */
	async day(): Promise<BudgetState | undefined> {
		const { ledger, findLimit } = findLedger(this.#config(), this.#store.session());
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

/** Starts work without waiting for it. Logs a failure. */
export function runInBackground(work: () => Promise<void>): void {
	const failed = (cause: unknown): void => log('warn', 'owner.not_told', toFailureFields(cause));
	try {
		work().catch(failed);
	} catch (cause) {
		failed(cause);
	}
}
