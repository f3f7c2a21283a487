/** What a command lets its caller add. */
export interface CommandOptions {
	/** Called once before the Worker is built or served. The repository of Runlet builds its page here. */
	readonly prepare?: () => void;
}

/** A command. */
export interface Command {
	readonly usage: string;
	/** Returns the exit code, or undefined if it goes on until it is stopped. */
	run(args: readonly string[], options: CommandOptions): Promise<number | undefined>;
}

/** A mistake of the person who typed the command. The message alone is printed, and says what to type instead. */
export class UsageError extends Error {
	override readonly name = 'UsageError';
}
