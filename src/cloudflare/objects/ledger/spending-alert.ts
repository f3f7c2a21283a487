import type { Amount, Limit } from '../budget.ts';
import type { BudgetScope } from './api.ts';

/** The shares of a budget that are told, in percent. */
export const percents = [50, 80, 100] as const;

/** What is told when a share of a budget was spent. */
export interface SpendingAlert {
	readonly owner: string;
	/** The user whose budget it is. Missing for the owner's day. */
	readonly user?: string;
	/** The budget: the owner's day, the user's day, or all that the user may spend. */
	readonly scope: BudgetScope;
	/** The share that was passed. 100 is also told when 80 was passed and the input of a call does not fit any more. */
	readonly percent: (typeof percents)[number];
	/** The day (UTC) on which it was spent, such as `2026-11-22`. */
	readonly day: string;
	readonly spent: Amount;
	readonly limit: Limit;
}

/** An alert on its way to a receiver. */
export interface OutgoingAlert {
	/** The same at each attempt. */
	readonly id: string;
	readonly receiver: string;
	readonly alert: SpendingAlert;
	/** Failed attempts. */
	readonly failed: number;
}

/** Delivers alerts to those who want them. */
export interface AlertSender {
	/** Their names; none where nobody wants any. */
	readonly receivers: readonly string[];
	/**
	 * Delivers an alert once.
	 *
	 * @returns when to try again, in milliseconds from now; nothing where it is delivered, or given up
	 */
	send(outgoing: OutgoingAlert): Promise<number | undefined>;
}
