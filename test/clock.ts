let current: (() => number) | undefined;

/** The clock of the ledgers and directories under test: the real one, unless a test set it. */
export function now(): number {
	return current === undefined ? Date.now() : current();
}

/** Sets the clock to a moment, where it stands still; without one it is the real clock again. */
export function setClock(moment?: string): void {
	current = moment === undefined ? undefined : () => Date.parse(moment);
}
