import type { Amount, Limit } from '../budget.ts';
import type { BudgetScope } from './api.ts';

/** The percentages of a budget that cause an alert when they are spent. */
export const percents = [50, 80, 100] as const;

/** A share of a budget was spent. */
export interface SpendingAlert {
	readonly owner: string;
	/** Missing for the owner's day. */
	readonly user?: string;
	/** The owner's day, the user's day, or the total of the user. */
	readonly scope: BudgetScope;
	/** The alert for 100 is also sent if 80 % is spent and the input of a call no longer fits. */
	readonly percent: (typeof percents)[number];
	/** The UTC day of the spending, such as `2026-11-22`. */
	readonly day: string;
	readonly spent: Amount;
	readonly limit: Limit;
}

export interface OutgoingAlert {
	/** Each attempt has the same id. */
	readonly id: string;
	readonly receiver: string;
	readonly alert: SpendingAlert;
	readonly failed: number;
}

export interface AlertSender {
	readonly receivers: readonly string[];
	/** Returns the milliseconds until the next attempt. Undefined if the alert is delivered, or given up. */
	send(outgoing: OutgoingAlert): Promise<number | undefined>;
}
