import type { Actor } from '../ground/actor.ts';
import type { Env } from '../ground/env.ts';
import type { MessagePart } from '../ground/part.ts';
import type { Workspace } from '../workspace/index.ts';
import type { JsonSchema } from './schema.ts';
import type { Shell } from './shell.ts';
import type { ToolState } from './state.ts';
import type { TasksShown } from './task-list.ts';
import type { Wakeups } from './wakeups.ts';

/** A message to the reader while a tool works: a text, or a label with a detail. */
export type Note = string | readonly [label: string, detail: string];

// SAFETY: only a Worker has an environment. In the library it is what the caller passes, so its fields may be missing.
/** The environment of a call without one. */
export const noEnv = {} as Env;

/** A message of the conversation as text. */
export interface ConversationText {
	readonly role: string;
	readonly text: string;
}

/** What tools may reach in the web. */
export interface WebAccess {
	/** Also this machine, for the local mode. */
	readonly allowLoopback?: boolean;
	/** The service that searches. */
	readonly search?: SearchService;
}

/**
 * An API that searches the web. `{query}` and `{limit}` in the address and in the texts of `body` are filled in; a text
 * that is `{limit}` becomes a number.
 */
export interface SearchService {
	readonly url: string;
	readonly headers?: Readonly<Record<string, string>>;
	/** With a body the request is a POST of JSON, else a GET. */
	readonly body?: Readonly<Record<string, unknown>>;
	/** Where the answer has the list of results, with dots between names. The default is `results`. */
	readonly results?: string;
	/** The names of a result's fields, with dots between names. The defaults are `title`, `url` and `snippet`. */
	readonly fields?: { readonly title?: string; readonly url?: string; readonly snippet?: string };
}

/** The context of a tool call. */
export interface ToolContext {
	/** The id of the call, as the model's provider gave it: a call of another session may have the same. */
	readonly callId: string;
	/**
	 * The name of the call for effects outside: no other call of any session has it, and it stays the same after a crash. Short
	 * plain ASCII.
	 */
	readonly idempotencyKey: string;
	readonly sessionId?: string;
	readonly runId?: string;
	/** The tenant of the session. */
	readonly owner?: string;
	/**
	 * The person of the session: the customer whose data a tool may read or change. It is fixed when the session is created,
	 * and no model, message or file can set it. Missing where the session names nobody.
	 */
	readonly user?: string;
	/** The metadata of the session: data of whoever created it, and no identity. */
	readonly metadata: Readonly<Record<string, string>>;
	/** Who sent the message that led to this call. Behind a child's report or a wake-up: who asked for it. */
	readonly askedBy?: Actor;
	/** Aborts if the run is cancelled or the tool's time limit is over. */
	readonly signal: AbortSignal;
	/** Facts about the turn: attachments, sender, transport. The sender is a name for texts; authorize by `user`. */
	readonly skillContext: Readonly<Record<string, unknown>>;
	/** The Worker's bindings and variables. In the library this is `options.context.env`. */
	readonly env: Env;
	/** What the session remembers between calls. */
	readonly state: ToolState;
	/** The files of the session. What a call changes there is one step. In the library this is `options.context.workspace`. */
	readonly workspace?: Workspace;
	/** Sends the requests of the tools that read the web. The default is the platform's `fetch`. */
	readonly fetch?: typeof globalThis.fetch;
	/** What the tools that read the web may reach. */
	readonly web?: WebAccess;
	/** Runs commands over the files. In a Worker it is there if `LOADER` and `PAGE` are bound. */
	readonly shell?: Shell;
	/** When the session is woken. In a Worker it is there if `createRunlet({ schedules })` is given. */
	readonly wakeups?: Wakeups;
	/** Reads the conversation, the newest message first. */
	readonly readConversation?: () => Iterable<ConversationText>;
	/** Shows a note or lists of tasks to the readers of the run. Never throws; what has another form is not shown. */
	readonly emit: (shown: Note | TasksShown) => void;
}

/**
 * A tool that a model may call. Everything except the functions is data: `toData` writes a tool as JSON, and `attach`
 * gives the functions back.
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
	/** The tool runs alone, after the calls of the turn that run in parallel. */
	readonly sequential?: boolean;
	/** An unavailable tool is neither shown to the model nor run. A tool whose `isAvailable` throws is unavailable. */
	isAvailable?(context: Partial<ToolContext>): boolean | Promise<boolean>;
	/** Converts the checked arguments for the handler and the notes. If it throws, the arguments are invalid. */
	readArgs?(args: Record<string, unknown>): unknown;
	onRequest?(args: unknown): Note | undefined;
	onResult?(args: unknown, result: unknown): Note | undefined;
	onError?(args: unknown, reason: string): 'default' | 'ignore' | Note;
	/**
	 * Takes the answer to a question that a call of this tool asked with `askUser`. What it returns is the result of the
	 * call, or the next question. Without it the answer itself is the result.
	 */
	onAnswer?(answer: string, about: AnsweredCall, context: ToolContext): unknown;
	/** Whether the tool may run again after a crash that hid its outcome. The default is `never`. */
	readonly retry?: 'safe' | 'never';
	/** Milliseconds that a call may take, in place of the run's limit for tools. */
	readonly timeoutMs?: number;
	/**
	 * Whether its results bring text from outside, which strangers may have written: a page of the web, a mail, a ticket.
	 * A session that has read such a text remembers nothing without a person's approval.
	 */
	readonly readsOutside?: boolean;
	/** What the model's provider is told about the tool. A provider that has no such field is not told. */
	readonly provider?: ToolForProvider;
	/** The run stops before the call, as for a manual tool, until a person has decided. */
	needsApproval?:
		| boolean
		| ((args: Record<string, unknown>, context: Partial<ToolContext>) => boolean | Promise<boolean>);
}

/** What a provider is told about a tool (docs/models.md, "Tools of the provider"). */
export interface ToolForProvider {
	/** Whether the model's arguments must follow the schema to the letter. The schema must fit the provider's rules. */
	readonly strict?: boolean;
	/** Whether the provider leaves the tool out of the prompt until its own tool search finds it. */
	readonly deferLoading?: boolean;
	/** Who may call it, in the provider's words: `direct`, or its own programs, such as `code_execution_20250825`. */
	readonly allowedCallers?: readonly string[];
}

/** The call that asked a question, when its answer comes. */
export interface AnsweredCall {
	/** The arguments, as the handler got them. */
	readonly args: unknown;
	/** What the tool gave `askUser` for this. */
	readonly resume: unknown;
}

/** A model's request to run a tool. `input` is the parsed arguments, or the text if it was not JSON. */
export interface ToolCall {
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** The answer to a `ToolCall`. With `isError`, `output` says what went wrong. */
export interface ToolResult {
	readonly id: string;
	/** What the tool returned: any JSON. Parts are here as one text. */
	readonly output: unknown;
	readonly isError: boolean;
	/** The arguments that the call ran with, if a person put them in the place of the model's. */
	readonly ranWith?: Readonly<Record<string, unknown>>;
	/** The parts, if the tool returned `parts(…)`. */
	readonly parts?: readonly MessagePart[];
}
