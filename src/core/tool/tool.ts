import type { Actor } from '../base/actor.ts';
import type { Env } from '../base/env.ts';
import type { MessagePart } from '../base/part.ts';
import type { Workspace } from '../workspace/index.ts';
import type { JsonSchema } from './schema.ts';
import type { ToolState } from './state.ts';
import type { TasksShown } from './tasks.ts';

/** A message to the reader while a tool works: a text, or a label with a detail. */
export type Note = string | readonly [label: string, detail: string];

// SAFETY: only a Worker has an environment. In the library the caller passes it, and its fields may be missing.
/** The environment of a call that has no environment. */
export const noEnv = {} as Env;

/** A message of the conversation as text. */
export interface ConversationText {
	readonly role: string;
	readonly text: string;
}

/** The web access of tools. */
export interface WebAccess {
	/** Whether addresses of this machine are also allowed, for the local mode. */
	readonly allowLoopback?: boolean;
	/** The service that searches. */
	readonly search?: SearchService;
}

/**
 * An API that searches the web. `{query}` and `{limit}` in the address and in the texts of `body` are replaced.
 * A text that is only `{limit}` becomes a number.
 */
export interface SearchService {
	readonly url: string;
	readonly headers?: Readonly<Record<string, string>>;
	/** The body. With a body the request is a POST of JSON, else it is a GET. */
	readonly body?: Readonly<Record<string, unknown>>;
	/** The path of the list of results in the answer, with dots between names. The default is `results`. */
	readonly results?: string;
	/** The names of a result's fields, with dots between names. The defaults are `title`, `url` and `snippet`. */
	readonly fields?: { readonly title?: string; readonly url?: string; readonly snippet?: string };
}

/** The context of a tool call. */
export interface ToolContext {
	/** The provider's id of the call. A call of another session may have the same id. */
	readonly callId: string;
	/**
	 * The idempotency key of the call for external effects. It is unique among all sessions and stays the same
	 * after a crash. It is short and plain ASCII.
	 */
	readonly idempotencyKey: string;
	readonly sessionId?: string;
	readonly runId?: string;
	/** The tenant of the session. */
	readonly owner?: string;
	/**
	 * The person of the session: the customer whose data a tool may read or change. It is set at the creation of
	 * the session, and no model, message or file can change it. Missing if the session has no user.
	 */
	readonly user?: string;
	/** The metadata from the creation of the session. Do not use it as an identity. */
	readonly metadata: Readonly<Record<string, string>>;
	/**
	 * The sender of the message that led to this call. After a child's report or a wake-up, the actor who requested it.
	 */
	readonly askedBy?: Actor;
	/** Aborts if the run is cancelled or the tool's time limit is over. */
	readonly signal: AbortSignal;
	/** Facts about the turn: attachments, sender, transport. The sender is only a display name: authorize by `user`. */
	readonly skillContext: Readonly<Record<string, unknown>>;
	/** The Worker's bindings and variables. In the library this is `options.context.env`. */
	readonly env: Env;
	/** The state of the session. */
	readonly state: ToolState;
	/**
	 * The files of the session. All changes of a call are one step. In the library this is `options.context.workspace`.
	 */
	readonly workspace?: Workspace;
	/** Sends the requests of the tools that read the web. The default is the platform's `fetch`. */
	readonly fetch?: typeof globalThis.fetch;
	/** The web access of the tools that read the web. */
	readonly web?: WebAccess;
	/** Runs commands over the files. Present in a Worker if `LOADER` and `PAGE` are bound. */
	readonly shell?: Shell;
	/** The wake-ups of the session. Present in a Worker with `createRunlet({ plugins: [schedules] })`. */
	readonly wakeups?: Wakeups;
	/** Reads the conversation, the newest message first. */
	readonly readConversation?: () => Iterable<ConversationText>;
	/** Shows a note or task lists to the readers of the run. Never throws. Drops other values. */
	readonly emit: (shown: Note | TasksShown) => void;
}

/**
 * A tool that a model may call. Everything except the functions is data: `toData` writes a tool as JSON, and
 * `attach` adds the functions again.
 */
export interface Tool {
	/** Unique among the tools of an agent. Any text: providers see `providerName(name)`. */
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
	/** Called with the arguments in the order of the parameters. With `passInput` it is called as `(input, context)`. */
	fn?(...args: unknown[]): unknown;
	readonly passInput?: boolean;
	/** The loop never runs this tool. The run stops as `awaiting_tools` until somebody submits the result. */
	readonly manual?: boolean;
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** Whether the tool runs alone, after the calls of the turn that run in parallel. */
	readonly sequential?: boolean;
	/** An unavailable tool is neither shown to the model nor run. A tool whose `isAvailable` throws is unavailable. */
	isAvailable?(context: Partial<ToolContext>): boolean | Promise<boolean>;
	/** Converts the checked arguments for the handler and the notes. If it throws, the arguments are invalid. */
	readArgs?(args: Record<string, unknown>): unknown;
	onRequest?(args: unknown): Note | undefined;
	onResult?(args: unknown, result: unknown): Note | undefined;
	onError?(args: unknown, reason: string): 'default' | 'ignore' | Note;
	/**
	 * Handles the answer to a question that a call of this tool asked with `askUser`. Returns the result of the
	 * call, or the next question. Without this function the answer is the result.
	 */
	onAnswer?(answer: string, about: AnsweredCall, context: ToolContext): unknown;
	/** Whether the tool may run again after a crash that hid its outcome. The default is `never`. */
	readonly retry?: 'safe' | 'never';
	/** The most milliseconds of a call. They replace the run's limit for tools. */
	readonly timeoutMs?: number;
	/**
	 * Whether results have untrusted text: a web page, a mail, a ticket. After such a result, a session needs a person's
	 * approval to remember something.
	 */
	readonly readsOutside?: boolean;
	/** Settings for the model's provider. Providers without such a field ignore them. */
	readonly provider?: ToolForProvider;
	/** Whether the run stops before the call, as for a manual tool, until a person has decided. */
	needsApproval?:
		| boolean
		| ((args: Record<string, unknown>, context: Partial<ToolContext>) => boolean | Promise<boolean>);
}

/** The settings of a tool for its provider (docs/models.md, "Tools of the provider"). */
export interface ToolForProvider {
	/** Whether the model's arguments must follow the schema exactly. The schema must fit the provider's rules. */
	readonly strict?: boolean;
	/** Whether the provider leaves the tool out of the prompt until its own tool search finds it. */
	readonly deferLoading?: boolean;
	/** Who may call it, in the provider's words: `direct`, or its own programs, such as `code_execution_20250825`. */
	readonly allowedCallers?: readonly string[];
}

/** The call of an answered question. */
export interface AnsweredCall {
	/** The arguments of the handler. */
	readonly args: unknown;
	/** The `resume` of `askUser`. */
	readonly resume: unknown;
}

/** A model's request to run a tool. `input` is the parsed arguments, or the text if it was not JSON. */
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

/** A shell command over files. */
export interface ShellRequest {
	readonly command: string;
	/** The paths of all files. */
	readonly paths: readonly string[];
	/** Reads a file when the command needs it. Throws if the command has read too much. */
	readonly read: (path: string) => Promise<Uint8Array>;
	/** Milliseconds after which the command is stopped. */
	readonly timeoutMs: number;
	/** The most characters of each output. */
	readonly maxOutput: number;
}

/** The result of a command. The workspace is not changed yet. */
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

/** Runs commands in a sandbox, which has no network and only the files of the request. */
export interface Shell {
	/** Runs a command. Throws `timeout` if it does not end in time, and `too_large` if it writes too much. */
	run(request: ShellRequest): Promise<ShellOutcome>;
}

/** The time of a wake-up: exactly one of `cron`, `every` and `at` (docs/schedules.md, "Times"). */
export interface WakeupTime {
	/** Minute, hour, day, month and weekday: `0 9 * * MON-FRI`. */
	readonly cron?: string;
	/** The interval as a number and `m`, `h`, `d` or `w`: `30m`. At least a minute. */
	readonly every?: string;
	/** One time with its offset: `2026-11-24T09:00:00+01:00`. */
	readonly at?: string;
	/** The time zone of `cron`, by its IANA name. UTC if it is missing. */
	readonly timezone?: string;
}

/** A new wake-up. It replaces an earlier wake-up of the same name. */
export interface NewWakeup extends WakeupTime {
	/** The name, of a–z, 0–9 and hyphens. */
	readonly name: string;
	/** The message for the session. */
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
	/** The next time. Missing after the last time. */
	readonly nextAt?: string;
	readonly last?: LastWake;
}

/** The wake-ups of a session. */
export interface Wakeups {
	/** Adds or replaces a wake-up. Throws `invalid_argument`, which names the field. */
	set(wakeup: NewWakeup): Promise<Wakeup>;
	list(): Promise<readonly Wakeup[]>;
	/** Returns whether the wake-up existed. */
	cancel(name: string): Promise<boolean>;
}
