let current: (() => number) | undefined;

/** The clock of the ledgers and directories under test. It is the real clock unless a test sets it. */
export function now(): number {
	return current === undefined ? Date.now() : current();
}

/** Stops the clock at a moment. Without an argument, `now` reads the real clock again. */
export function setClock(moment?: string): void {
	current = moment === undefined ? undefined : () => Date.parse(moment);
}
