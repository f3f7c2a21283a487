/** A command that a shell runs over files. */
export interface ShellRequest {
	readonly command: string;
	/** The paths of all files. */
	readonly paths: readonly string[];
	/** Reads a file when the command needs it. Throws if the command has read too much. */
	readonly read: (path: string) => Promise<Uint8Array>;
	/** Milliseconds after which the command is stopped. */
	readonly timeoutMs: number;
	/** Characters of each of the two outputs. */
	readonly maxOutput: number;
}

/** What came of a command. Nothing of it has changed the files yet. */
export interface ShellOutcome {
	readonly stdout: string;
	readonly stderr: string;
	readonly exitCode: number;
	/** Whether an output was cut. */
	readonly truncated: boolean;
	/** New files, and files with other bytes than before. */
	readonly written: readonly { readonly path: string; readonly content: Uint8Array }[];
	readonly deleted: readonly string[];
}

/** Runs commands apart from everything else: without network, and with no other files than those of the request. */
export interface Shell {
	/** Runs a command to its end. Throws `timeout` if it does not end in time, and `too_large` if it writes too much. */
	run(request: ShellRequest): Promise<ShellOutcome>;
}
