import { RunletError } from '../../../core/base/errors.ts';
import { embed, type Meter, type ProviderRegistration, resolveRegistration } from '../../../core/chat/index.ts';
import { log, toFailureFields } from '../../log.ts';
import { createAmount } from '../../objects/budget.ts';
import { askLedger, settleCosts } from '../../objects/ledger/api.ts';
import { createBudgetError, createUnpriced } from './budgets.ts';
import type { OwnerLedger } from './lease.ts';
import type { SessionMeter } from './meter.ts';

type Vectors = Awaited<ReturnType<typeof embed>>;

/** The options of vectors and their account. */
export interface EmbeddingOptions {
	readonly providers: readonly ProviderRegistration[];
	readonly owner: Omit<OwnerLedger, 'tellWith'>;
}

/**
 * Makes the vectors of a session, and has each request paid (docs/budgets.md): by the account of the run that they are
 * made for, and outside of a run by the owner's ledger. A request that a budget does not allow is not made.
 */
export class Embeddings {
	readonly #options: EmbeddingOptions;
	#account: SessionMeter | undefined;
	/** Resolves when nobody uses the account, which has one request at a time. */
	#last: Promise<void> = Promise.resolve();
	/** Whether the model is asked. */
	#isAsking = false;
	#stop = new AbortController();

	constructor(options: EmbeddingOptions) {
		this.#options = options;
	}

	/** Returns the vectors of texts in order. Throws `budget_exceeded`, and what the provider throws. */
	embed(model: string, texts: readonly string[], signal?: AbortSignal): Promise<Vectors> {
		const { providers } = this.#options;
		const account = this.#account;
		if (account === undefined)
			return embed({ model, providers, signal, meter: createOwnerMeter(this.#options) }, texts);
		const stop = this.#stop.signal;
		const until = signal === undefined ? stop : AbortSignal.any([signal, stop]);
		return embed({ model, providers, signal: until, meter: this.#takeTurns(account) }, texts);
	}

	/**
	 * Lets a run pay. Returns its account, which stops the requests for vectors before it asks the model: whoever made them
	 * does not wait any more.
	 */
	attach(account: SessionMeter): SessionMeter {
		this.#account = account;
		const end = (): void => {
			this.#isAsking = false;
		};
		return {
			get call() {
				return account.call;
			},
			get isShort() {
				return account.isShort;
			},
			reserve: async (request) => {
				this.#isAsking = true;
				this.#stop.abort();
				await this.#last;
				this.#stop = new AbortController();
				try {
					return await account.reserve(request);
				} catch (error) {
					end();
					throw error;
				}
			},
			lost: (...told) => {
				end();
				return account.lost(...told);
			},
			settle: (...told) => {
				end();
				return account.settle(...told);
			},
		};
	}

	/** Ends the account: its run is over. No request is made any more, and one that goes on is stopped. */
	end(): void {
		this.#stop.abort();
	}

	/** Returns the account for one request at a time. */
	#takeTurns(account: SessionMeter): Meter {
		let leave = (): void => {};
		return {
			reserve: async (request) => {
				const before = this.#last;
				const turn = Promise.withResolvers<void>();
				this.#last = turn.promise;
				leave = turn.resolve;
				try {
					await before;
					if (this.#isAsking || request.signal.aborted) throw createTooLate();
					return await account.reserve(request);
				} catch (error) {
					leave();
					throw error;
				}
			},
			lost: async (...told) => {
				try {
					await account.lost(...told);
				} finally {
					leave();
				}
			},
		};
	}
}

/** Creates the error for vectors of a run that is over. */
function createTooLate(): RunletError {
	return new RunletError('cancelled', 'The vectors come too late for this turn.');
}

/** Creates the account for requests of an owner that no run makes, one after the other. */
function createOwnerMeter({ providers, owner }: EmbeddingOptions): Meter {
	const { ledger, findLimit, user } = owner;
	let reserved: { readonly id: string; readonly model: string; readonly tokens: number } | undefined;
	const findPrice = (model: string, inputTokens: number) =>
		resolveRegistration({ model, providers })?.computePrice?.(model, { inputTokens, outputTokens: 0 });
	return {
		reserve: async ({ model, inputTokens }) => {
			const [limit, usd] = await Promise.all([findLimit(), findPrice(model, inputTokens)]);
			if (limit.usd !== undefined && usd === undefined) throw createUnpriced(model);
			const amount = createAmount({ tokens: inputTokens, usd: usd ?? 0 });
			// The ledger may keep caps of a user that are not known here.
			const needs = usd === undefined && user !== undefined ? { ...amount, usd: Number.POSITIVE_INFINITY } : amount;
			// A request that is repeated is paid again.
			const id = `embed_${crypto.randomUUID()}`;
			const answer = await askLedger(ledger, (one, deadline) =>
				one.reserve({ id, amount: needs, limit, user, deadline }),
			);
			if (!answer.ok) throw createBudgetError({ ...answer, user }, amount);
			reserved = { id, model, tokens: amount.tokens };
			return undefined;
		},
		lost: async (usage, isCut) => {
			if (reserved === undefined) return;
			const { id, model } = reserved;
			const tokens = usage?.inputTokens ?? (isCut ? reserved.tokens : 0);
			const usd = usage?.costUsd ?? (await findPrice(model, tokens));
			const amount = createAmount({ tokens, usd: usd ?? 0 });
			const unpricedTokens = usd === undefined ? amount.tokens : 0;
			const part = { ...amount, model, unpricedTokens, inputTokens: amount.tokens, cachedInputTokens: 0 };
			// An amount that the ledger is not told of stays set aside, as if it were spent.
			await settleCosts(ledger, [{ id, amount, user, parts: [part] }]).catch((cause: unknown) =>
				log('warn', 'owner.not_told', toFailureFields(cause)),
			);
		},
	};
}
