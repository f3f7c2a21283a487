import type { JsonSchema } from './schema.ts';

/** A line for the reader while a tool works: a text, or a label and a detail. */
export type Note = string | readonly [label: string, detail: string];

/** What a tool knows about the call that it serves. */
export interface ToolContext {
	/** The call's id: the same after a crash, so a fit idempotency key for what the tool does outside. */
	readonly callId: string;
	readonly sessionId?: string;
	readonly runId?: string;
	/** Aborts when the run is cancelled or the tool's time is over. */
	readonly signal: AbortSignal;
	/** What the harness says about the turn: attachments, sender, transport. The model cannot write it. */
	readonly skillContext: Readonly<Record<string, unknown>>;
	/** Shows a note to whoever follows the run. Never throws. */
	readonly emit: (note: Note) => void;
}

/**
 * A tool that a model may call. All of it is data but for its functions, so a tool survives JSON by `toData` and gets
 * its functions back by `attach`.
 */
export interface Tool {
	/** Unique among the tools of an agent. Any text: a provider sees `providerName(name)`. */
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
	/** Called with the arguments in the order of the parameters, or, with `passInput`, as `(input, context)`. */
	fn?(...args: unknown[]): unknown;
	readonly passInput?: boolean;
	/** Never run by the loop: the run stops as `awaiting_tools` until somebody submits the result. */
	readonly manual?: boolean;
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** Runs alone, after all calls of the turn that may run together. */
	readonly sequential?: boolean;
	/** A tool that is not available is neither advertised nor run; one that cannot say so is not. */
	isAvailable?(context: Partial<ToolContext>): boolean | Promise<boolean>;
	/** Turns checked arguments into what the handler and the notes get; what it throws is an invalid argument. */
	readArgs?(args: Record<string, unknown>): unknown;
	onRequest?(args: unknown): Note | undefined;
	onResult?(args: unknown, result: unknown): Note | undefined;
	onError?(args: unknown, reason: string): 'default' | 'ignore' | Note;
	/** Whether it may run again when a crash hid its outcome. Missing means `never`. */
	readonly retry?: 'safe' | 'never';
	/** Not run by the loop: the run stops as for a manual tool, until a person has decided. */
	needsApproval?: boolean | ((args: Record<string, unknown>) => boolean | Promise<boolean>);
}

/** A model's request to run a tool. `input` is the parsed arguments, or the raw text where that was no JSON. */
export interface ToolCall {
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** The answer to a `ToolCall`. `isError` tells the model that `output` says what went wrong. */
export interface ToolResult {
	readonly id: string;
	readonly output: unknown;
	readonly isError: boolean;
}
