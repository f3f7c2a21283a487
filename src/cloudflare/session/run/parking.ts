import type { BegunReply, Parking, ProviderRegistration } from '../../../core/chat/index.ts';
import { resolveRegistration } from '../../../core/chat/index.ts';
import { log, toFailureFields } from '../../log.ts';
import type { Journal, JournalOptions } from './journal.ts';

/**
 * How often the alarm asks for a parked reply, in milliseconds. The platform takes an object out of memory after 10
 * seconds, and to load the object again costs more than to ask.
 */
const pollMs = 5_000;

/** Keeps a run that waits for a reply in the background until the object's alarm rings. It uses no timer. */
export class ParkedRun {
	#wake: (() => void) | undefined;
	#dueAt: number | undefined;

	/** When the alarm must ring, in milliseconds since 1970. */
	get dueAt(): number | undefined {
		return this.#dueAt;
	}

	/** Resolves at the next alarm. */
	wait(now: number): Promise<void> {
		if (this.#dueAt === undefined || this.#dueAt <= now) this.#dueAt = now + pollMs;
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}

	/** Lets the run ask for its reply. The alarm is set for the next request at once, because each change costs a row. */
	wake(now: number): void {
		const wake = this.#wake;
		this.#wake = undefined;
		this.#dueAt = wake && now + pollMs;
		wake?.();
	}
}

interface ParkingOptions extends Pick<JournalOptions, 'store' | 'record' | 'meter' | 'sync'> {
	readonly journal: Pick<Journal, 'iteration' | 'restarts'>;
	readonly since: number;
	/** Resolves when the object's alarm rings. */
	readonly park: () => Promise<void>;
}

/** Creates the parking of a run: a reply is in the store before the run waits for it. */
export function createParking({ store, record, meter, sync, journal, since, park }: ParkingOptions): Parking {
	return {
		since,
		findBegun: () => store.begunReply,
		wait: async (begun) => {
			store.runs.assertOpen(record);
			if (store.begunReply?.id !== begun.id) {
				const { iteration, restarts } = journal;
				store.runs.draft(record.n, { iteration: iteration + 1, restarts, events: [], call: meter.call, begun });
				await sync();
			}
			await park();
		},
	};
}

/** Returns a function for the end of a run. It cancels the begun reply of an earlier life, if no request asked for it. */
export function createLeave(store: JournalOptions['store'], providers: Providers): () => void {
	const begun = store.begunReply;
	const call = begun && store.spending.open()?.call;
	return () => {
		if (begun !== undefined && store.spending.open()?.call === call) cancelReply(providers, begun);
	};
}

type Providers = readonly ProviderRegistration[] | undefined;

/** Cancels a reply at its provider. If that fails, the provider goes on writing. */
export function cancelReply(providers: Providers, { model, id }: BegunReply): void {
	resolveRegistration({ model, providers })
		?.cancelReply?.(id)
		.catch((cause: unknown) => log('warn', 'reply.not_cancelled', toFailureFields(cause)));
}
