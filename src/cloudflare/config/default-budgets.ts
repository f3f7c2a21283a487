/**
 * What may be spent where nobody says, in tokens: input and output of all calls together. In tokens, as not every model
 * has a known price. A cap of any kind takes the place of these.
 */
export const defaultBudgets = {
	/** A long day's work of one agent, resent history included. */
	session: { tokens: 2_000_000 },
	/** Of one owner; as much as ten such sessions. */
	day: { tokens: 20_000_000 },
} as const;
