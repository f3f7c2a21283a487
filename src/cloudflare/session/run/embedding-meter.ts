import { RunletError } from '../../../core/base/errors.ts';
import { embed, type Meter, type ProviderRegistration, resolveRegistration } from '../../../core/chat/index.ts';
import { log, toFailureFields } from '../../log.ts';
import { createAmount } from '../../objects/budget.ts';
import { askLedger, settleCosts } from '../../objects/ledger/api.ts';
import { createBudgetError, createUnpriced } from './budgets.ts';
import type { OwnerLedger } from './lease.ts';
import type { SessionMeter } from './meter.ts';

type Vectors = Awaited<ReturnType<typeof embed>>;

export interface EmbeddingOptions {
	readonly providers: readonly ProviderRegistration[];
	readonly owner: Omit<OwnerLedger, 'tellWith'>;
}

/**
 * Makes the vectors of a session within its budgets (docs/budgets.md). The account of the run pays for them, and
 * outside of a run the owner's ledger.
 */
export class Embeddings {
	readonly #options: EmbeddingOptions;
	#account: SessionMeter | undefined;
	/** Resolves when the account is free. It has one request at a time. */
	#last: Promise<void> = Promise.resolve();
	#isAsking = false;
	#stop = new AbortController();

	constructor(options: EmbeddingOptions) {
		this.#options = options;
	}

	/** Returns the vectors of texts in order. Throws `budget_exceeded`, and the errors of the provider. */
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
	 * Lets the account of a run pay. Returns that account, extended: before a request to the model it stops the requests
	 * for vectors, for which nobody waits any more.
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
			lost: (...args) => {
				end();
				return account.lost(...args);
			},
			settle: (...args) => {
				end();
				return account.settle(...args);
			},
		};
	}

	end(): void {
		this.#stop.abort();
	}

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
			lost: async (...args) => {
				try {
					await account.lost(...args);
				} finally {
					leave();
				}
			},
		};
	}
}

function createTooLate(): RunletError {
	return new RunletError('cancelled', 'The vectors come too late for this turn.');
}

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
			// The ledger may keep unknown caps of the user.
			const needs = usd === undefined && user !== undefined ? { ...amount, usd: Number.POSITIVE_INFINITY } : amount;
			// A repeated request is charged again.
			const id = `embed_${crypto.randomUUID()}`;
			const answer = await askLedger(ledger, (stub, deadline) =>
				stub.reserve({ id, amount: needs, limit, user, deadline }),
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
			// Without this report the reservation counts as spent.
			await settleCosts(ledger, [{ id, amount, user, parts: [part] }]).catch((cause: unknown) =>
				log('warn', 'owner.not_told', toFailureFields(cause)),
			);
		},
	};
}
