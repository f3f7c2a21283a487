import type { ChatOptions, Message, MessagePart, ToolMessage } from '../../core/chat/index.ts';
import type { JsonSchema } from '../../core/tool/index.ts';
import type { ClientTool } from '../compat/client-tool.ts';
import type { Format } from '../compat/format.ts';
import type { Completion } from '../compat/openai/schema.ts';
import type { Attachment } from '../wire/attachment.ts';
import type { runResult } from '../wire/run.ts';
import type { newSession, session } from '../wire/session.ts';
import type { Shown } from '../wire/shown.ts';
import type { sessionToken, TokenScope } from '../wire/token.ts';
import type { Limit } from './budget.ts';
import type { Failure, RpcResult } from './result.ts';

/** How the caller of a run wants its answer: as events, as the result, or only that it was accepted. */
export type Delivery = 'stream' | 'result' | 'accepted';

/** A request that may come again: its `Idempotency-Key`, and a hash of what it asks. */
export interface Once {
	readonly key: string;
	readonly request: string;
	/** Whether the client sends it for the first time: what came under the key before was another request of the same words. */
	readonly isFirst?: boolean;
	/** A hash of its body, where one that says the same is the same, whatever its key. */
	readonly body?: string;
}

/** What a delivery is known by in its session: with a space, so that it is nobody's `Idempotency-Key`. */
export function webhookKey(source: string, id: string): string {
	return `webhook ${source} ${id}`;
}

/** How a request wants to be handled. */
export interface Handling {
	readonly delivery: Delivery;
	readonly once?: Once;
	/** In whose words it is answered; Runlet's own, if nobody says. */
	readonly format?: Format;
}

/**
 * Who calls: the owner that an API key stands for, and that key, or the holder of a token that the session signed. An admin may read and
 * remove the sessions of all owners; the routes say so for these operations only.
 */
export type Caller =
	| { readonly owner: string; readonly keyId?: string; readonly isAdmin?: true }
	| { readonly token: string };

/** A message to a session. */
export interface Input {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	/** Files that came with it. */
	readonly attachments?: readonly Attachment[];
	/** Who sent it; the session's owner, if nobody says. */
	readonly sender?: string;
	/** By what way it came; `http`, if nobody says. */
	readonly transport?: string;
	/** The sender's own id of the message. */
	readonly messageId?: string;
	/** The model of this run and those after it; the one that the session has, if nobody says. */
	readonly model?: string;
	/** What happens where a run goes on. */
	readonly whenBusy?: WhenBusy;
	/** Where the end of its run is told; checked by who passes it. */
	readonly callback?: string;
	/** Whether it waits for a session that waits for results of calls, too, instead of being refused: its sender cannot come again. */
	readonly isPatient?: boolean;
	/** Whether a patient one may be the answer to what a tool has asked; else it waits for that, too. */
	readonly mayAnswer?: boolean;
	/** What the session is created with, where it is not there yet. */
	readonly create?: CreateInput;
}

/** A message that comes while a run goes on waits for its end, is refused, or is taken up by it before its next turn. */
export type WhenBusy = 'queue' | 'reject' | 'steer';

/** What somebody answers to a call that the loop left to them: its result, or whether it may run. */
export type CallAnswer =
	| { readonly id: string; readonly output: unknown; readonly isError?: boolean }
	| { readonly id: string; readonly approve: boolean; readonly reason?: string };

/** What a page posts that keeps its own list of messages (AI SDK): its last message, and what became of those before. */
export interface PagePost {
	/** The agent that the page talks to. */
	readonly agent: string;
	/** The model from now on; the one that the session has, if nobody says. */
	readonly model?: string;
	/** The person's message, where that is the last; `messageId` is what the page calls it. */
	readonly input?: Input;
	/** Answers to calls that the assistant's last message holds: also those that were given before, and made-up ones. */
	readonly answers?: readonly CallAnswer[];
	/** Whether the answer is set aside and asked for again. */
	readonly isAgain?: boolean;
	/** The message that this is about: one that is edited, or whose answer is asked again. */
	readonly messageId?: string;
}

/** What is new in a conversation that a client keeps and sends whole each time. */
export interface ConversationUpdate {
	/** The agent that it means. */
	readonly agent: string;
	/** What it says now. */
	readonly input?: Input;
	/** The model of this run and those after it; the one that the session has, if nobody says. */
	readonly model?: string;
	/** What its tools gave, for all calls that are open. */
	readonly results: readonly ToolMessage[];
	/** The tools that it has now. */
	readonly clientTools: readonly ClientTool[];
	/** The longest reply of the model, in tokens, where the agent does not want it shorter. */
	readonly maxOutputTokens?: number;
	/** Which tool the model is to call first. */
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** What the session is created with, where it is not there yet. */
	readonly create?: CreateInput;
}

/** What a session is created with. */
export interface CreateInput {
	readonly agent: string;
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	/** Who it belongs to. */
	readonly owner: string;
	/** The API key that its first token goes with. */
	readonly keyId?: string;
	/** What it may spend; what its agent says, if nobody says. */
	readonly budget?: Limit;
	/** How long after its last activity it is removed, in milliseconds. */
	readonly expiresAfterMs?: number;
	/** The conversation that it begins with. */
	readonly history?: readonly Message[];
	/** Tools that its client carries out, beside the agent's. */
	readonly clientTools?: readonly ClientTool[];
	/** The first message; with it the run begins in the same operation. */
	readonly input?: Input;
}

export type SessionState = Shown<typeof session>;

export type NewSession = Shown<typeof newSession>;

export type RunResult = Shown<typeof runResult>;

/** What becomes of a request for a run. */
export type RunOutcome = {
	/** Whether the request came before, under the same key. */
	readonly isReplay?: boolean;
} & (
	| RunStream
	/** How the run ended. `created` is the session that began with it. */
	| { readonly kind: 'result'; readonly result: RunResult; readonly created?: NewSession }
	/** The same in the words of OpenAI's protocol. */
	| { readonly kind: 'completion'; readonly completion: Completion }
	| { readonly kind: 'failed'; readonly error: Failure }
	| { readonly kind: 'accepted'; readonly runId: string; readonly created?: NewSession }
	/** There is no run. */
	| { readonly kind: 'session'; readonly session: SessionState | NewSession }
);

/** A run's events as the bytes of `text/event-stream`, in the words of the request's format. */
export interface RunStream {
	readonly kind: 'stream';
	readonly stream: Bytes;
}

/** Nothing is added to the answer that a page has. `isWaiting`: calls of it wait for somebody. */
export interface NothingNew {
	readonly kind: 'nothing';
	readonly isWaiting: boolean;
}

/** Bytes on their way from the object to the client. No JavaScript of the Worker reads them in between. */
export type Bytes = ReadableStream<Uint8Array>;

/**
 * What the routes may ask of a session's Durable Object. Each call says who asks: to anyone but its owner and the holders
 * of its tokens a session is not there. What may be large is a stream, since a value over RPC has at most 32 MiB.
 */
export interface SessionApi {
	create(input: CreateInput, how: Handling): Promise<RpcResult<RunOutcome>>;
	state(caller: Caller): Promise<RpcResult<SessionState>>;
	/** Changes what the session may spend. A run that stopped for it can then be continued. Not with a token. */
	change(caller: Caller, to: { readonly budget: Limit }): Promise<RpcResult<SessionState>>;
	/** A page of the history, as JSON. */
	messages(caller: Caller, page: PageQuery): Promise<RpcResult<Bytes>>;
	/** A new token for this session. Not with a token. */
	token(caller: Caller, asked: TokenRequest): Promise<RpcResult<Shown<typeof sessionToken>>>;
	/** Takes a token back; streams that are read with it end. Not with a token. */
	revokeToken(caller: Caller, id: string): Promise<RpcResult<void>>;
	/** One message with the whole result of its tool, as JSON. */
	message(caller: Caller, seq: number): Promise<RpcResult<Bytes>>;
	send(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** The answer to a tool's question. */
	answer(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** What is new in a conversation that a client keeps and sends whole each time. Refused while a run goes on. */
	converse(caller: Caller, update: ConversationUpdate, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Answers to open calls, all of them or none. The last one begins the run that goes on. */
	submit(caller: Caller, results: readonly CallAnswer[], how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Takes up a run that failed, or that stopped after a step; `step` for one turn of the model. */
	continue(caller: Caller, how: Handling, operation?: 'step'): Promise<RpcResult<RunOutcome>>;
	/**
	 * The events of the newest run; nothing where there is none, or where the reader has seen its end.
	 *
	 * @param lastEventId the `Last-Event-ID` of a reader that comes back
	 */
	events(caller: Caller, lastEventId: string | undefined): Promise<RpcResult<Bytes | undefined>>;
	/**
	 * What a page says. A message that the session has already gets the answer that it got, an answer to a call that is
	 * not open changes nothing, and an edited message takes the place of the one that it was, with all behind it.
	 */
	post(caller: Caller, post: PagePost, how: Handling): Promise<RpcResult<RunStream | NothingNew>>;
	/** The run that goes on, from the beginning of its answer; nothing where none does. */
	resume(caller: Caller, agent: string): Promise<RpcResult<Bytes | undefined>>;
	/** The conversation as a page shows it, as JSON, without the answer that is being written. */
	pageMessages(caller: Caller, agent: string): Promise<RpcResult<Bytes>>;
	/** A request that comes again under its key changes nothing: it may come late, when another run goes on. */
	cancel(caller: Caller, once?: Once): Promise<RpcResult<SessionState>>;
	/** Everything of the session. Not with a token. */
	export(caller: Caller, form: 'json' | 'ndjson'): Promise<RpcResult<Bytes>>;
	/** Stops what runs and removes everything: the session is not there any more. Not with a token. */
	delete(caller: Caller): Promise<RpcResult<void>>;
}

/** Which messages are asked for. */
export interface PageQuery {
	readonly cursor?: number;
	readonly limit?: number;
}

/** The namespace of session objects, as far as the routes use it. */
export interface SessionNamespace {
	newUniqueId(): DurableObjectId;
	/** The same id for the same name. */
	idFromName(name: string): DurableObjectId;
	/** Throws for a text that is no id of this namespace. */
	idFromString(id: string): DurableObjectId;
	get(id: DurableObjectId): SessionApi;
}

/** What a client may ask of a run beside its message. */
export interface RunTerms {
	/** The answer is JSON of this schema. */
	readonly outputSchema?: JsonSchema;
	/** `false`: at most one call is left to the client. */
	readonly parallelToolCalls?: boolean;
}

/** What a token is asked for with. */
export interface TokenRequest {
	readonly expiresInSeconds?: number;
	readonly scopes?: readonly TokenScope[];
}
