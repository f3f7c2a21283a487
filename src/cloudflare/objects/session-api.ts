import type { Actor } from '../../core/base/actor.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import type { ChatOptions, Message, MessagePart, ToolMessage } from '../../core/chat/index.ts';
import type { Role, TokenScope } from '../auth/rights.ts';
import type { Attachment } from '../wire/content.ts';
import type { Shown } from '../wire/operation.ts';
import type { Format } from '../wire/protocols/format.ts';
import type { Completion } from '../wire/protocols/openai/completion.ts';
import type { ClientTool, RunTerms, runResult } from '../wire/run.ts';
import type { newSession, session } from '../wire/session.ts';
import type { sessionToken } from '../wire/token.ts';
import type { Amount, Limit } from './budget.ts';
import type { FileDownload, FilePage, FilePageQuery, FileRequest, IfMatch, WrittenFile } from './file-api.ts';
import type { DecisionLinks, LinkedCall, LinkRequest } from './link-api.ts';
import type { Once } from './once.ts';
import type { ListedTool, OutsideCall } from './outside-call.ts';
import type { Bytes, Failure, RpcResult } from './result.ts';

/** The form of the answer to a run: its events, its result, or only that it was accepted. */
export type Delivery = 'stream' | 'result' | 'accepted';

/** How to handle a request. */
export interface Handling {
	readonly delivery: Delivery;
	readonly once?: Once;
	/** The protocol of the answer. The default is Runlet's own. */
	readonly format?: Format;
}

/**
 * The caller: somebody in an owner, or the holder of a token of the session. Runlet itself calls without a role: for a
 * webhook, a schedule, and a session that works for another one, its `parent`, which nobody else changes. An operator may
 * read and remove the sessions of all owners; the routes pass `isAdmin` only for these operations.
 *
 * A session that has not let its caller in by the `deadline`, in milliseconds since 1970, refuses the
 * request as `overloaded`, unless it cancels.
 */
export type Caller = { readonly deadline?: number } & (
	| {
			readonly owner: string;
			/** Who it is. A child session has no actor of its own. */
			readonly by?: Actor;
			readonly role?: Role;
			readonly isAdmin?: true;
			readonly parent?: string;
	  }
	| { readonly token: string }
);

/** A message to a session. */
export interface Input {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	/** The files of the message. */
	readonly attachments?: readonly Attachment[];
	/** The name of the sender, for texts. The default is whoever sent it, or asked for it. */
	readonly sender?: string;
	/** Those whose messages led to it, where its sender only passes on what they began. */
	readonly askers?: readonly Actor[];
	/** The transport. The default is `http`. */
	readonly transport?: string;
	/** The call that it answers: that of a question, or the call of a child that the question is about. */
	readonly callId?: string;
	/** The sender's id for the message. */
	readonly messageId?: string;
	/** The model from this run on. The default is the session's model. */
	readonly model?: string;
	/** The place of the message that this one replaces, with all behind it. Without a content that one is asked again. */
	readonly replaces?: string;
	/** What happens to the message during a run. */
	readonly whenBusy?: WhenBusy;
	/** The URL that is told the end of the run. The caller has checked it. */
	readonly callback?: string;
	/**
	 * Whether the message also waits while calls wait for results, instead of being refused, because its sender cannot
	 * repeat it.
	 */
	readonly isPatient?: boolean;
	/** Whether a patient message may answer a tool's question. If not, it waits for that too. */
	readonly mayAnswer?: boolean;
	/** The values of a new session, if the session does not exist yet. */
	readonly create?: CreateInput;
	/** The child that tells by the message what came of it, and what it cost. It is taken once. */
	readonly ofChild?: { readonly id: string; readonly spent: Amount };
}

/**
 * What happens to a message during a run: it waits for the end, it is refused, or the run takes it up before its next
 * turn.
 */
export type WhenBusy = 'queue' | 'reject' | 'steer';

/** A post of a page that keeps its own messages (AI SDK): its last message, and what happened to those before. */
export interface PagePost {
	/** The agent of the page. */
	readonly agent: string;
	/** The model from now on. The default is the session's model. */
	readonly model?: string;
	/** The last message if it is the person's. `messageId` is the page's id. */
	readonly input?: Input;
	/** Answers to calls in the last assistant message. Some may be old or invented. */
	readonly answers?: readonly CallAnswer[];
	/** Whether the answer is dropped and requested again. */
	readonly isAgain?: boolean;
	/** The message that is edited, or whose answer is requested again. */
	readonly messageId?: string;
}

/** The new part of a conversation that the client sends as a whole each time. */
export interface ConversationUpdate {
	/** The agent of the conversation. */
	readonly agent: string;
	/** The person whom the client speaks for. */
	readonly user?: string;
	/** The new message. */
	readonly input?: Input;
	/** The model from this run on. The default is the session's model. */
	readonly model?: string;
	/** The results of its tools for all open calls. */
	readonly results: readonly ToolMessage[];
	/** Its current tools. */
	readonly clientTools: readonly ClientTool[];
	/** The longest reply in tokens, unless the agent has a lower limit. */
	readonly maxOutputTokens?: number;
	/** The tool that the model must call first. */
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** The values of a new session, if the session does not exist yet. */
	readonly create?: CreateInput;
}

/** The values of a new session. */
export interface CreateInput {
	readonly agent: string;
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	/** The owner. */
	readonly owner: string;
	/** The person whose session it is. */
	readonly user?: string;
	/** Who creates it, and makes its first token. */
	readonly by?: Actor;
	/** The role of whoever creates it. Runlet itself has none. */
	readonly role?: Role;
	/** Who holds its first token. The default is the user. */
	readonly for?: string;
	/** The budget. The default is that of the agent. */
	readonly budget?: Limit;
	/** The time from its last activity to its removal in milliseconds. */
	readonly expiresAfterMs?: number;
	/** The history at the start. */
	readonly history?: readonly Message[];
	/** The tools that its client runs, in addition to the agent's. */
	readonly clientTools?: readonly ClientTool[];
	/** The session that it works for, and how many stand above it. */
	readonly parent?: {
		readonly id: string;
		readonly depth: number;
		readonly isBackground?: boolean;
		/** The agents above, the nearest one last. */
		readonly agents: readonly string[];
	};
	/** The first message, which starts a run in the same operation. */
	readonly input?: Input;
}

/** Who imports a session. */
export interface ImportOwner {
	readonly owner: string;
	/** The person whose session it becomes. */
	readonly user?: string;
	/** Who imports it, and makes its first token. */
	readonly by?: Actor;
	readonly role?: Role;
	/**
	 * Whether the lines come from a session of the same owner, and so are true. Anything else brings history and no
	 * authority: whoever imports it counts as having said all of it.
	 */
	readonly isFork?: boolean;
	readonly once?: Once;
}

export type SessionState = Shown<typeof session>;

export type NewSession = Shown<typeof newSession>;

export type RunResult = Shown<typeof runResult>;

/** The outcome of a request for a run. */
export type RunOutcome = {
	/** Whether the request is a repetition. */
	readonly isReplay?: boolean;
} & (
	| RunStream
	/** The end of the run. `created` is the new session, if the run began with one. */
	| { readonly kind: 'result'; readonly result: RunResult; readonly created?: NewSession }
	/** The end of the run in OpenAI's protocol. */
	| { readonly kind: 'completion'; readonly completion: Completion }
	| { readonly kind: 'failed'; readonly error: Failure }
	| { readonly kind: 'accepted'; readonly runId: string; readonly created?: NewSession }
	/** There is no run. */
	| { readonly kind: 'session'; readonly session: SessionState | NewSession }
);

/** The events of a run as bytes of `text/event-stream`, in the protocol of the request. */
export interface RunStream {
	readonly kind: 'stream';
	readonly stream: Bytes;
}

/** The page already has the answer. `isWaiting`: its calls wait for somebody. */
export interface NothingNew {
	readonly kind: 'nothing';
	readonly isWaiting: boolean;
}

/**
 * The methods of a session's Durable Object. Each call names its caller. For anyone except its owner and the holders of
 * its tokens, the session does not exist. Large values are streams, because an RPC value has at most 32 MiB.
 */
export interface SessionApi {
	create(input: CreateInput, how: Handling): Promise<RpcResult<RunOutcome>>;
	state(caller: Caller): Promise<RpcResult<SessionState>>;
	status(caller: Caller): Promise<RpcResult<SessionState['status']>>;
	/** Changes the budget or the title. A run that stopped because of its budget can continue after that. Not with a token. */
	change(caller: Caller, change: SessionChange): Promise<RpcResult<SessionState>>;
	/** Returns a page of the history as JSON. */
	messages(caller: Caller, page: PageQuery): Promise<RpcResult<Bytes>>;
	/** Returns the task lists as JSON. */
	tasks(caller: Caller): Promise<RpcResult<Bytes>>;
	/** Makes links to decide about a call that waits for an approval. Not with a token. */
	links(caller: Caller, asked: LinkRequest): Promise<RpcResult<DecisionLinks>>;
	/** Returns the call that a link decides about, or decides as it says, once. The link is its own authorization. */
	followLink(link: string, how: 'show' | 'decide'): Promise<RpcResult<LinkedCall>>;
	/** Makes a token for this session. Not with a token. */
	token(caller: Caller, asked: TokenRequest): Promise<RpcResult<Shown<typeof sessionToken>>>;
	/** Revokes a token and ends the streams that it opened. Not with a token. */
	revokeToken(caller: Caller, id: string): Promise<RpcResult<void>>;
	/** Returns one message as JSON, with the whole result of its tool. */
	message(caller: Caller, seq: number): Promise<RpcResult<Bytes>>;
	/** Returns the messages that wait for a run, the oldest first, as JSON. */
	waiting(caller: Caller): Promise<RpcResult<Bytes>>;
	/** Removes a message that waits, by the id of the run that it would begin. */
	removeWaiting(caller: Caller, id: string): Promise<RpcResult<void>>;
	send(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Answers a tool's question. */
	answer(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Tells the session that its owner logged in to an MCP server. A run that waits for that goes on. */
	loggedIn(caller: Caller, server: string): Promise<RpcResult<void>>;
	/** Takes the new part of a conversation. Refused during a run. */
	converse(caller: Caller, update: ConversationUpdate, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Answers open calls: all of the list, or none. After the last open call the run continues. */
	submit(caller: Caller, results: readonly CallAnswer[], how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Continues a run that failed or that stopped after a step; with `step` for one turn of the model. */
	continue(caller: Caller, how: Handling, operation?: 'step'): Promise<RpcResult<RunOutcome>>;
	/**
	 * Returns the events of the newest run, or `undefined` if there is none or the reader has seen its end.
	 *
	 * @param lastEventId the `Last-Event-ID` of a returning reader
	 */
	events(caller: Caller, lastEventId: string | undefined, format?: Format): Promise<RpcResult<Bytes | undefined>>;
	/**
	 * Takes a page's post. A known message gets its earlier answer. An answer to a closed call changes nothing. An edited
	 * message replaces the original and everything after it.
	 */
	post(caller: Caller, post: PagePost, how: Handling): Promise<RpcResult<RunStream | NothingNew>>;
	/** Returns the current answer from its beginning, or `undefined` if no run is active. */
	resume(caller: Caller, agent: string): Promise<RpcResult<Bytes | undefined>>;
	/** Returns the conversation as a page shows it, as JSON, without the answer that is being written. */
	pageMessages(caller: Caller, agent: string): Promise<RpcResult<Bytes>>;
	/** Stops the run. A repeated request changes nothing: it may come late, during another run. */
	cancel(caller: Caller, once?: Once): Promise<RpcResult<SessionState>>;
	/**
	 * Exports the session. Not with a token.
	 *
	 * @param at the place of the last message, whose turn is exported whole. The default is the newest.
	 */
	export(caller: Caller, form: 'json' | 'ndjson', at?: number): Promise<RpcResult<Bytes>>;
	/** Takes in the lines of an export: all of it or nothing. */
	import(owner: ImportOwner, lines: Bytes): Promise<RpcResult<NewSession>>;
	/** Lists the files, sorted by path. */
	files(caller: Caller, page: FilePageQuery): Promise<RpcResult<FilePage>>;
	readFile(caller: Caller, path: string, request: FileRequest): Promise<RpcResult<FileDownload>>;
	/** Takes in a file, in place of what stands at its path. Throws `precondition_failed` if the condition does not hold. */
	writeFile(caller: Caller, path: string, body: Bytes, condition: IfMatch): Promise<RpcResult<WrittenFile>>;
	removeFile(caller: Caller, path: string, condition: IfMatch): Promise<RpcResult<void>>;
	/** Returns a page of what changed in the files as JSON, the newest first. */
	changes(caller: Caller, page: FilePageQuery): Promise<RpcResult<Bytes>>;
	/** Lists the tools that may be called from outside of a run. With `create` the session need not exist. */
	tools(caller: Caller, agent: string, create?: CreateInput): Promise<RpcResult<readonly ListedTool[]>>;
	/** Runs one call of a tool outside of a run. Returns lines of JSON (`OutsideLine`). Leaving them aborts the call. */
	callTool(caller: Caller, call: OutsideCall, create?: CreateInput): Promise<RpcResult<Bytes>>;
	/** Stops the run and removes the session. Not with a token. */
	delete(caller: Caller): Promise<RpcResult<void>>;
}

/** The requested messages. */
export interface PageQuery {
	readonly cursor?: number;
	readonly limit?: number;
	/** Whether the oldest come first, or the newest. The default is `asc`. */
	readonly order?: 'asc' | 'desc';
}

/** The part of the namespace of sessions that the routes use. */
export interface SessionNamespace {
	newUniqueId(): DurableObjectId;
	/** Returns the same id for the same name. */
	idFromName(name: string): DurableObjectId;
	/** Throws if the text is not an id of this namespace. */
	idFromString(id: string): DurableObjectId;
	get(id: DurableObjectId): SessionApi;
}

/** What is changed of a session. */
export interface SessionChange {
	readonly budget?: Limit;
	readonly title?: string;
}

/** The request for a token. */
export interface TokenRequest {
	readonly expiresInSeconds?: number;
	readonly scopes?: readonly TokenScope[];
	/** Who holds it. The default is the user of the session. */
	readonly for?: string;
	/** The user of the session, where the request is sure of it. */
	readonly user?: string;
}
