import type { Actor } from '../base/actor.ts';
import type { Env } from '../base/env.ts';
import type { MessagePart } from '../base/part.ts';
import type { Workspace } from '../workspace/index.ts';
import type { JsonSchema } from './schema.ts';
import type { ToolState } from './state.ts';
import type { TasksShown } from './tasks.ts';

/** A message to the reader while a tool works: a text, or a label with a detail. */
export type Note = string | readonly [label: string, detail: string];

// SAFETY: a Worker always has an environment. In the library, the environment or its fields can be missing.
/** A placeholder for calls that have no environment. */
export const noEnv = {} as Env;

/** A message of the conversation, with its content as text. */
export interface ConversationText {
	readonly role: string;
	readonly text: string;
}

/** The web access of tools. */
export interface WebAccess {
	/** Whether tools can also reach addresses of this machine, for the local mode. */
	readonly allowLoopback?: boolean;
	/** The search service. */
	readonly search?: SearchService;
}

/**
 * An API that searches the web. `{query}` and `{limit}` are replaced in the address and in the texts of `body`. A text
 * that consists only of `{limit}` becomes a number.
 */
export interface SearchService {
	readonly url: string;
	readonly headers?: Readonly<Record<string, string>>;
	/** The JSON body. With a body, the request is a POST. Without a body, it is a GET. */
	readonly body?: Readonly<Record<string, unknown>>;
	/** The path to the list of results in the response, with dots between names. The default is `results`. */
	readonly results?: string;
	/** The paths to a result's fields, with dots between names. The defaults are `title`, `url` and `snippet`. */
	readonly fields?: { readonly title?: string; readonly url?: string; readonly snippet?: string };
}

/** The context of a tool call. */
export interface ToolContext {
	/** The provider's id of the call. A call in another session can have the same id. */
	readonly callId: string;
	/**
	 * The idempotency key of the call, for external effects. It is unique among all sessions, and stays the same after
	 * a crash. It is short and plain ASCII.
	 */
	readonly idempotencyKey: string;
	/**
	 * The header `traceparent` for requests of the call (W3C Trace Context): the trace of the run, and the span of the call.
	 * The library has none unless `options.context.createTraceparent` makes it.
	 */
	readonly traceparent?: string;
	readonly sessionId?: string;
	readonly runId?: string;
	/** The tenant of the session. */
	readonly owner?: string;
	/**
	 * The person of the session: the customer whose data a tool is allowed to read or change. It is set when the
	 * session is created. No model, message or file can change it. Missing if the session has no user.
	 */
	readonly user?: string;
	/** The metadata from the creation of the session. Do not use it to identify a person. */
	readonly metadata: Readonly<Record<string, string>>;
	/** The actor whose message led to this call, or who asked for the child or the wake-up that led to it. */
	readonly askedBy?: Actor;
	/** Aborts if the run is cancelled or the tool's time limit has passed. */
	readonly signal: AbortSignal;
	/** Facts about the turn: attachments, sender, transport. The sender is only a display name. Authorize by `user`. */
	readonly skillContext: Readonly<Record<string, unknown>>;
	/** The Worker's bindings and variables. In the library this is `options.context.env`. */
	readonly env: Env;
	/** The state of the session. */
	readonly state: ToolState;
	/**
	 * The files of the session. All changes of a call are one undo step. In the library: `options.context.workspace`.
	 */
	readonly workspace?: Workspace;
	/** Sends the requests of the web tools. The default is the platform's `fetch`. */
	readonly fetch?: typeof globalThis.fetch;
	/** The settings of the web tools. */
	readonly web?: WebAccess;
	/** Runs commands on the files. Present in a Worker if `LOADER` and `PAGE` are bound. */
	readonly shell?: Shell;
	/** The wake-ups of the session. Present in a Worker with `createRunlet({ plugins: [schedules] })`. */
	readonly wakeups?: Wakeups;
	/** Reads the conversation, the newest message first. */
	readonly readConversation?: () => Iterable<ConversationText>;
	/** Shows a note or task lists to the readers of the run. Never throws. Ignores other values. */
	readonly emit: (shown: Note | TasksShown) => void;
}

/** Where a text came from: strangers wrote it, or it is data of the owner or of the user. */
export type Label = 'outside' | 'private';

/**
 * A tool that a model can call. Everything except the functions is data: `toData` writes a tool as JSON, and `attach`
 * adds the functions again.
 */
/** What a person reads before they decide about a call. */
type Preview = string | undefined;

export interface Tool {
	/** The name, unique among the tools of an agent. Any text is allowed: providers see `providerName(name)`. */
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
	/** Called with the arguments in the order of the parameters. With `passInput` it is called as `(input, context)`. */
	fn?(...args: unknown[]): unknown;
	readonly passInput?: boolean;
	/** Whether the agent never runs this tool. The run stops as `awaiting_tools` until somebody submits the result. */
	readonly manual?: boolean;
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** Whether the tool runs alone, after the turn's parallel calls have ended. */
	readonly sequential?: boolean;
	/** Whether the tool is shown to the model and can run. If this function throws, the tool is unavailable. */
	isAvailable?(context: Partial<ToolContext>): boolean | Promise<boolean>;
	/** Converts the checked arguments for the handler and the hooks. If it throws, the arguments count as invalid. */
	readArgs?(args: Record<string, unknown>): unknown;
	onRequest?(args: unknown): Note | undefined;
	onResult?(args: unknown, result: unknown): Note | undefined;
	onError?(args: unknown, reason: string): 'default' | 'ignore' | Note;
	/**
	 * Handles the answer to a question that this tool asked with `askUser`. Returns the result of the call, or the next
	 * question. Without this function, the answer is the result.
	 */
	onAnswer?(answer: string, about: AnsweredCall, context: ToolContext): unknown;
	/** Whether a call that a crash interrupted can run again. The default is `never`. */
	readonly retry?: 'safe' | 'never';
	/** Whether calls change nothing anywhere. Only such a tool can run for a candidate (docs/testing.md). No by default. */
	readonly readOnly?: boolean;
	/** The time limit of a call in milliseconds. It replaces the run's limit for tools. */
	readonly timeoutMs?: number;
	/**
	 * What results may have: text of strangers, such as a web page, a mail or a ticket (`outside`), or data of the owner
	 * or of the user (`private`). A call that sends something out of a session with both waits for a person
	 * (docs/untrusted-text.md).
	 */
	readonly reads?: Label | readonly Label[];
	/**
	 * What leaves the session with a call: its arguments (`outside`), as with a mail, a payment or a post; or only the
	 * address in `url` (`address`), as with a page that is read.
	 */
	readonly writes?: 'outside' | 'address';
	/** Returns where a call sends to, such as mail addresses or hosts, for the rules and for the person who decides. */
	targets?(args: Record<string, unknown>): readonly string[];
	/** Settings for the model's provider. A provider ignores settings that it does not support. */
	readonly provider?: ToolForProvider;
	/**
	 * Returns what a call would do, such as a diff, for the person who decides about the call. The person sees the first
	 * 8,000 characters, and the number of the others. If the function throws, the person sees no preview.
	 */
	preview?(args: Record<string, unknown>, context: Partial<ToolContext>): Preview | Promise<Preview>;
	/** Whether the run stops before the call until a person has decided. */
	needsApproval?:
		| boolean
		| ((args: Record<string, unknown>, context: Partial<ToolContext>) => boolean | Promise<boolean>);
}

/** The settings of a tool for its provider (docs/models.md, "Tools of the provider"). */
export interface ToolForProvider {
	/** Whether the model's arguments must follow the schema exactly. The schema must fit the provider's rules. */
	readonly strict?: boolean;
	/** Whether the provider leaves the tool out of the prompt until the provider's tool search finds the tool. */
	readonly deferLoading?: boolean;
	/** Who can call the tool: `direct`, or one of the provider's programs, such as `code_execution_20250825`. */
	readonly allowedCallers?: readonly string[];
}

/** The call whose question was answered. */
export interface AnsweredCall {
	/** The arguments of the handler. */
	readonly args: unknown;
	/** The `resume` data that the tool passed to `askUser`. */
	readonly resume: unknown;
}

/** A model's request to run a tool. `input` has the parsed arguments, or the raw text if the text is not JSON. */
export interface ToolCall {
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** The answer to a `ToolCall`. With `isError`, `output` describes the error. */
export interface ToolResult {
	readonly id: string;
	/** The return value of the tool as JSON. Parts are joined to one text. */
	readonly output: unknown;
	readonly isError: boolean;
	/** The arguments of the call, if a person changed them. */
	readonly ranWith?: Readonly<Record<string, unknown>>;
	/** The parts, if the tool returned `parts(…)`. */
	readonly parts?: readonly MessagePart[];
}

/** A shell command on files. */
export interface ShellRequest {
	readonly command: string;
	/** The paths of all files. */
	readonly paths: readonly string[];
	/** Reads a file when the command needs it. Throws if the command has read too many bytes. */
	readonly read: (path: string) => Promise<Uint8Array>;
	/** Milliseconds after which the command is stopped. */
	readonly timeoutMs: number;
	/** The maximum length of each output in characters. */
	readonly maxOutput: number;
}

/** The result of a command. The workspace is not changed yet. */
export interface ShellOutcome {
	readonly stdout: string;
	readonly stderr: string;
	readonly exitCode: number;
	/** Whether an output was cut. */
	readonly truncated: boolean;
	/** New files, and files whose bytes have changed. */
	readonly written: readonly { readonly path: string; readonly content: Uint8Array }[];
	readonly deleted: readonly string[];
}

/** Runs commands in a sandbox, which has no network and only the files of the request. */
export interface Shell {
	/** Runs a command. Throws `timeout` if the command does not end in time, and `too_large` if it writes too much. */
	run(request: ShellRequest): Promise<ShellOutcome>;
}

/** The time of a wake-up: exactly one of `cron`, `every` and `at` (docs/schedules.md, "Times"). */
export interface WakeupTime {
	/** Minute, hour, day, month and weekday: `0 9 * * MON-FRI`. */
	readonly cron?: string;
	/** The interval, such as `30m`: a number and `m`, `h`, `d` or `w`. At least a minute. */
	readonly every?: string;
	/** A single time with its UTC offset: `2026-11-24T09:00:00+01:00`. */
	readonly at?: string;
	/** The time zone of `cron`, by its IANA name. The default is UTC. */
	readonly timezone?: string;
}

/** A new wake-up. It replaces an earlier wake-up with the same name. */
export interface NewWakeup extends WakeupTime {
	/** The name, which consists of a–z, 0–9 and hyphens. */
	readonly name: string;
	/** The message that the session gets. */
	readonly text: string;
}

/** The outcome of a wake-up: a run, or the reason why no run began. Times are in ISO 8601. */
export interface LastWake {
	readonly at: string;
	readonly outcome: 'ran' | 'skipped' | 'failed';
	readonly sessionId?: string;
	readonly runId?: string;
	readonly reason?: string;
}

export interface Wakeup extends NewWakeup {
	/** The time of the next wake-up. Missing after the last wake-up. */
	readonly nextAt?: string;
	readonly last?: LastWake;
}

/** The wake-ups of a session. */
export interface Wakeups {
	/** Adds or replaces a wake-up. Throws `invalid_argument` with the name of the invalid field. */
	set(wakeup: NewWakeup): Promise<Wakeup>;
	list(): Promise<readonly Wakeup[]>;
	/** Removes a wake-up. Returns whether it existed. */
	cancel(name: string): Promise<boolean>;
}
