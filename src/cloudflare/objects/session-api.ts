import type { Actor } from '../../core/base/actor.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import type { ChatOptions, Message, MessagePart, ToolMessage } from '../../core/chat/index.ts';
import type { Label } from '../../core/tool/index.ts';
import type { Right, Role, TokenScope } from '../auth/rights.ts';
import type { feedback, feedbackBody } from '../wire/feedback.ts';
import type { arrivedPart } from '../wire/import.ts';
import type { Attachment } from '../wire/message.ts';
import type { Shown } from '../wire/operation.ts';
import type { PushConfig } from '../wire/protocols/a2a/params.ts';
import type { Format } from '../wire/protocols/format.ts';
import type { Completion } from '../wire/protocols/openai/completion.ts';
import type { UiMessageHead } from '../wire/protocols/ui/writer.ts';
import type { foundRequest } from '../wire/request.ts';
import type { ClientTool, RunTerms, runResult } from '../wire/run.ts';
import type { changeBody, listedRun, newSession, session } from '../wire/session.ts';
import type { Reader } from '../wire/shown-error.ts';
import type { sessionToken, tokenBody } from '../wire/token.ts';
import type { CallerSpan } from '../wire/traceparent.ts';
import type { Amount, Limit } from './budget.ts';
import type { FileDownload, FilePage, FilePageQuery, FileRequest, IfMatch, WrittenFile } from './file-api.ts';
import type { DecisionLinks, LinkedCall, LinkRequest } from './link-api.ts';
import type { Once } from './once.ts';
import type { ListedTool, OutsideCall } from './outside-call.ts';
import type { Bytes, Failure, RpcResult } from './reach.ts';

/** What a caller gets from a run: its events, its result, or only the note that it was accepted. */
export type Delivery = 'stream' | 'result' | 'accepted';

/** The HTTP request that a session handles. */
export interface RequestOrigin {
	/** The random part of the id of the request. */
	readonly requestId?: string;
	/** The caller's span, by the header `traceparent`. */
	readonly caller?: CallerSpan;
	/** What the protocol of the request shows with the run that the request begins. JSON of at most about 100 KB. */
	readonly kept?: Readonly<Record<string, unknown>>;
}

/** A run, as a protocol with ids of runs sees it. */
export interface FoundRun {
	readonly id: string;
	readonly agent: string;
	readonly user?: string;
	readonly isRunning: boolean;
	readonly isNewest: boolean;
	/** Whether the session has taken the request before. */
	readonly isRepeated: boolean;
	/** The positions of the run's first turn and its last. */
	readonly first: number;
	readonly last: number;
	/** Milliseconds since 1970. */
	readonly endedAt?: number;
	readonly kept?: RequestOrigin['kept'];
	readonly chain: RunChain;
}

/** The runs that go on with one another: a run that waited is continued by the next run. */
export interface RunChain {
	/** The numbers of the first run and the last. */
	readonly first: number;
	readonly last: number;
	/** The status of the last run. */
	readonly status: 'running' | RunResult['status'] | 'cancelled' | 'error';
	/** When the status of the last run began, in milliseconds since 1970. */
	readonly since: number;
}

/** A change of the receivers of a task (docs/a2a.md, "Push notifications"). */
export type ReceiverChange =
	| { readonly put: PushConfig & { readonly contextId: string } }
	/** The id of a receiver. */
	| { readonly remove: string };

export interface Handling {
	readonly origin?: RequestOrigin;
	readonly delivery: Delivery;
	readonly once?: Once;
	/** The default is Runlet's own protocol. */
	readonly format?: Format;
}

/**
 * The caller: an actor of an owner, or the holder of a session token. A call by Runlet itself has no role: it is
 * from a webhook, a schedule, or a parent session (`parent`). Only the parent changes a child session. An
 * `isAdmin` caller can read and delete the sessions of all owners.
 *
 * After the `deadline` (milliseconds since 1970) a session throws `overloaded` for a call that it has not
 * accepted yet, unless the call is a cancellation.
 */
export type Caller = { readonly deadline?: number } & (
	| {
			readonly owner: string;
			/** A child session has no actor of its own. */
			readonly by?: Actor;
			readonly role?: Role;
			readonly isAdmin?: true;
			readonly parent?: string;
	  }
	| { readonly token: string }
);

export interface Input {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	readonly attachments?: readonly Attachment[];
	/** The sender's name for display. The default is the last of `askers`. Without `askers`, it is the actor. */
	readonly sender?: string;
	/** The people whose messages led to this message, if its sender only passes it on. */
	readonly askers?: readonly Actor[];
	readonly transport?: string;
	/** What flowed into the message, if another agent wrote it. */
	readonly labels?: readonly Label[];
	/** The call whose question the message answers. It can be a call of the child session that asks. */
	readonly callId?: string;
	readonly messageId?: string;
	/** The model from this run on. The default is the session's model. */
	readonly model?: string;
	/** The position of the first message to replace. Without new content, the replaced message is sent again. */
	readonly replaces?: string;
	readonly whenBusy?: WhenBusy;
	/** A checked URL that is called at the end of the run. */
	readonly callback?: string;
	/** Whether the message waits while calls wait for results. If not, it is refused. For senders that cannot retry. */
	readonly isPatient?: boolean;
	/** Whether a message with `isPatient` can answer a tool's question. If not, it waits for another answer. */
	readonly mayAnswer?: boolean;
	/** Creates the session if it does not exist yet. */
	readonly create?: CreateInput;
	/** The child whose end and cost the message reports. The session stores the report once. */
	readonly ofChild?: { readonly id: string; readonly spent: Amount };
}

/** What a message does during a run: it waits for the end, it is refused, or it joins the run before the next turn. */
export type WhenBusy = 'queue' | 'reject' | 'steer';

/** A post of a page that keeps its own messages (AI SDK, AG-UI). */
export interface PagePost {
	readonly agent: string;
	/** The model from now on. The default is the session's model. */
	readonly model?: string;
	/** The last message, if a person wrote it. `messageId` is the id that the page gave it. */
	readonly input?: Input;
	/** The answers in the last assistant message. Some are possibly old or invented. */
	readonly answers?: readonly CallAnswer[];
	/** The tools of the page from this message on. The default is the session's tools. */
	readonly clientTools?: readonly ClientTool[];
	/** Whether the last answer is dropped and requested again. */
	readonly isAgain?: boolean;
	/** The edited message, or the message whose answer is requested again. */
	readonly messageId?: string;
}

/** The new part of a conversation. The client sends the whole conversation each time. */
export interface ConversationUpdate {
	readonly agent: string;
	readonly user?: string;
	readonly input?: Input;
	/** The model from this run on. The default is the session's model. */
	readonly model?: string;
	/** The results of the client's tools for all open calls. */
	readonly results: readonly ToolMessage[];
	/** Decisions and results for open calls. They come without a message and without `results`. */
	readonly answers?: readonly CallAnswer[];
	/** The number of the newest run that the client knows. Throws `conflict` if there is a newer run. */
	readonly after?: number;
	readonly clientTools: readonly ClientTool[];
	/** The maximum number of output tokens. If the agent has a lower limit, that limit counts. */
	readonly maxOutputTokens?: number;
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** Creates the session if it does not exist yet. */
	readonly create?: CreateInput;
}

export interface CreateInput {
	readonly agent: string;
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	readonly owner: string;
	readonly user?: string;
	/** The actor who creates the session and makes its first token. */
	readonly by?: Actor;
	readonly role?: Role;
	/** The person who holds the session's first token. The default is the user. */
	readonly for?: string;
	readonly budget?: Limit;
	/** Milliseconds from the last activity to the removal. */
	readonly expiresAfterMs?: number;
	readonly history?: readonly Message[];
	/** The tools of the client, in addition to the agent's. */
	readonly clientTools?: readonly ClientTool[];
	/** The session for which this session works. `depth` counts the sessions above this session. */
	readonly parent?: {
		readonly id: string;
		readonly depth: number;
		readonly isBackground?: boolean;
		/** The agents of the sessions above, the nearest session last. */
		readonly agents: readonly string[];
	};
	/** Starts a run in the same operation. */
	readonly input?: Input;
}

export interface ImportOwner {
	readonly owner: string;
	readonly user?: string;
	/** The actor who imports the session and makes its first token. */
	readonly by?: Actor;
	readonly role?: Role;
	/** The session that is copied. Lines from elsewhere are history without authority. */
	readonly original?: Original;
	/** The run that the session runs again. */
	readonly rerun?: Rerun;
	readonly once?: Once;
}

/** A session that is copied, up to the turn of the message at position `at`. */
export interface Original {
	readonly session: string;
	readonly at?: number;
	/** Who copies it. */
	readonly caller: Caller;
}

/** A part of the lines of an import (`Content-Range`). Without a position it asks how much has arrived. */
export interface ImportPart {
	/** The position of the first byte. */
	readonly from?: number;
	readonly isLast: boolean;
}

export type ArrivedPart = Shown<typeof arrivedPart>;

/** A run that a session runs again (docs/sessions.md, "Rerun"). */
export interface Rerun {
	readonly session: string;
	readonly run: string;
	/** The place of the message that runs again. The recorded calls come after it. */
	readonly message: number;
	/** The system prompt in place of the agent's. */
	readonly prompt?: string;
}

export type SessionState = Shown<typeof session>;

export interface SessionPlace {
	/** The name of the directory that lists the session, and has its schedules. */
	readonly directory: string;
	readonly user?: string;
	/** The session for which a child session works. */
	readonly parent?: string;
}

export type NewSession = Shown<typeof newSession>;

export type FoundRequest = Omit<Shown<typeof foundRequest>, 'id' | 'links'>;

export type RunResult = Shown<typeof runResult>;

export type RunOutcome = {
	/** Whether this is the stored answer to a repeated request. */
	readonly isReplay?: boolean;
	/** The run that the request began or joined. */
	readonly runId?: string;
} & (
	| RunStream
	| { readonly kind: 'result'; readonly result: RunResult; readonly created?: NewSession }
	| { readonly kind: 'completion'; readonly completion: Completion }
	| { readonly kind: 'failed'; readonly error: Failure }
	| { readonly kind: 'accepted'; readonly runId: string; readonly created?: NewSession }
	| { readonly kind: 'session'; readonly session: SessionState | NewSession }
);

export interface RunStream {
	readonly kind: 'stream';
	readonly runId?: string;
	readonly stream: Bytes;
}

/** Who holds a token, and what the token may do. */
export interface TokenHolder {
	readonly by: Actor;
	readonly scopes: readonly TokenScope[];
}

/** The facts of a token by which its streams are checked. */
export interface TokenGrant {
	readonly id: string;
	/** The API key that made the token. */
	readonly keyId: string;
	/** Seconds since 1970. */
	readonly expiresAt: number;
}

/** A reader of a run whom a session passes on to a relay (docs/events.md, "Many readers"). */
export interface PassedReader {
	/** The name of the relay, which is an object of the class of sessions. */
	readonly relay: string;
	readonly session: string;
	/** The relay lives where the sessions of this owner and agent live. */
	readonly owner: string;
	readonly agent: string;
	/** The instance of the session's object, and its run. Another instance does not know which tokens were revoked. */
	readonly live: string;
	/** The event id of the reader's position. */
	readonly from: string;
	readonly reader: Reader;
	/** The token of the reader. Missing for a reader with an API key. */
	readonly token?: TokenGrant;
	/** The head of the message that an AI SDK page reads. Missing for readers of Runlet's own protocol. */
	readonly head?: UiMessageHead;
}

/** The page already has the whole answer. `isWaiting`: calls in this answer wait for somebody. */
export interface NothingNew {
	readonly kind: 'nothing';
	readonly isWaiting: boolean;
}

/** What a list shows of a session. `spent` is missing for a session in the archive. */
export type SessionBrief = Pick<SessionState, 'status'> &
	Partial<Pick<SessionState['budget'], 'spent'>> & { readonly runs?: readonly Shown<typeof listedRun>[] };

/**
 * The methods of a session's Durable Object. For anyone except its owner and the holders of its tokens, the session
 * does not exist. Large values are streams, because an RPC value has at most 32 MiB.
 */
export interface SessionApi {
	create(input: CreateInput, how: Handling): Promise<RpcResult<RunOutcome>>;
	state(caller: Caller): Promise<RpcResult<SessionState>>;
	/** Returns what a list shows of the session, with its newest runs if the list shows runs. */
	brief(caller: Caller, withRuns?: boolean): Promise<RpcResult<SessionBrief>>;
	/** Returns the holder of a token, and the token's scopes. */
	holder(caller: Caller): Promise<RpcResult<TokenHolder>>;
	/** Returns what a schedule must know of the session. */
	place(caller: Caller): Promise<RpcResult<SessionPlace>>;
	/** A run that stopped because of its budget can continue after the budget is raised. Not allowed with a token. */
	change(caller: Caller, change: SessionChange): Promise<RpcResult<SessionState>>;
	/** The messages as JSON. */
	messages(caller: Caller, page: PageQuery): Promise<RpcResult<Bytes>>;
	/** The tasks as JSON. */
	tasks(caller: Caller): Promise<RpcResult<Bytes>>;
	/** Creates links for a call that waits for an approval. Not allowed with a token. */
	links(caller: Caller, request: LinkRequest): Promise<RpcResult<DecisionLinks>>;
	/** Shows the call of a link, or makes the decision of the link, once. The link itself authorizes its holder. */
	followLink(link: string, how: 'show' | 'decide'): Promise<RpcResult<LinkedCall>>;
	/** Finds the run that a request began or joined, by the random part of its id. Not allowed with a token. */
	findRequest(caller: Caller, requestId: string): Promise<RpcResult<FoundRequest>>;
	/** Not allowed with a token. */
	token(caller: Caller, request: TokenRequest): Promise<RpcResult<Shown<typeof sessionToken>>>;
	/** Revokes a token and ends its streams. Not allowed with a token. */
	revokeToken(caller: Caller, id: string): Promise<RpcResult<void>>;
	/** A message as JSON, with the whole result of its tool. */
	message(caller: Caller, seq: number): Promise<RpcResult<Bytes>>;
	/** The waiting messages as JSON, the oldest first. */
	waiting(caller: Caller): Promise<RpcResult<Bytes>>;
	/** Removes a waiting message. `id` is the id of the run that the message would begin. */
	removeWaiting(caller: Caller, id: string): Promise<RpcResult<void>>;
	send(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	answer(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Continues a run that waits for the owner's login to an MCP server. */
	loggedIn(caller: Caller, server: string): Promise<RpcResult<void>>;
	/** Stores an update of a conversation. Throws during a run. */
	converse(caller: Caller, update: ConversationUpdate, how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Stores all answers or none. The run continues when the last open call is answered. */
	submit(caller: Caller, results: readonly CallAnswer[], how: Handling): Promise<RpcResult<RunOutcome>>;
	/** Continues a run that failed, or stopped after a step. With `step` the run takes one turn of the model. */
	continue(caller: Caller, how: Handling, operation?: 'step'): Promise<RpcResult<RunOutcome>>;
	/**
	 * Returns undefined if there is no run, or if the reader has already seen the run's end (`lastEventId`). With very
	 * many readers of Runlet's own protocol, the session passes on the reader: call `relay` of the named object. Without
	 * `lastEventId` they begin with the turn of the message at `turnOf`, if that is a turn of the newest run.
	 */
	events(caller: Caller, lastEventId: string | undefined, format: Format): Promise<RpcResult<Bytes | undefined>>;
	events(
		caller: Caller,
		lastEventId: string | undefined,
		format?: Format,
		turnOf?: number,
	): Promise<RpcResult<Bytes | PassedReader | undefined>>;
	/** The events for a reader whom a session has passed on. The object is a relay, in which no session is stored. */
	relay(passed: PassedReader): Promise<RpcResult<Bytes>>;
	/** The events of the current run for a relay. Throws `overloaded` if the run or the instance is another. */
	feed(passed: PassedReader): Promise<RpcResult<Bytes>>;
	/**
	 * Handles a post of a page. The default format is the AI SDK's. A known message gets its earlier answer again. An answer to a closed call changes
	 * nothing. An edited message replaces the original and everything after it.
	 */
	post(caller: Caller, post: PagePost, how: Handling): Promise<RpcResult<RunStream | NothingNew>>;
	/** Returns the current answer from its beginning, or undefined without an active run. Passes on as `events` does. */
	resume(caller: Caller, agent: string): Promise<RpcResult<Bytes | PassedReader | undefined>>;
	/** The conversation of a page as JSON, without the answer that is being written. */
	pageMessages(caller: Caller, agent: string): Promise<RpcResult<Bytes>>;
	/** Stores what a person says about a run, or without a rating removes it. Throws `conflict` if the run has not ended. */
	rate(
		caller: Caller,
		runId: string,
		rating?: Shown<typeof feedbackBody>,
	): Promise<RpcResult<Shown<typeof feedback> | undefined>>;
	/** Cancels the run. A repeated request changes nothing, because it can arrive late, during another run. */
	cancel(caller: Caller, once?: Once): Promise<RpcResult<SessionState>>;
	/**
	 * Exports the session, or its history up to the turn of the message at position `at`. With a cursor (`start` at first)
	 * there are cursors among the lines, and the export goes on behind this one. Not allowed with a token.
	 */
	export(caller: Caller, form: 'json' | 'ndjson', at?: number, cursor?: string): Promise<RpcResult<Bytes>>;
	/** Makes the traces of the session, or only the trace with a run. Not allowed with a token. */
	exportTrace(caller: Caller, form: { readonly run?: string; readonly hasContent: boolean }): Promise<RpcResult<Bytes>>;
	/**
	 * Finds a run by its number, for a caller with a right. 0 is the newest run. `once` is the request that goes on after
	 * the run.
	 */
	findRun(caller: Caller, n: number, right: Right, once?: Once): Promise<RpcResult<FoundRun>>;
	/** Lists where the updates of a task are posted, after a change. `run` is a run of the task. */
	receivers(caller: Caller, run: number, change?: ReceiverChange): Promise<RpcResult<readonly PushConfig[]>>;
	/** Finds the message that led to a run. Not allowed with a token. */
	findRunMessage(caller: Caller, runId: string): Promise<RpcResult<number>>;
	/**
	 * Imports all lines, or copies the original. Whoever asks sees all of it or nothing. An interrupted fork goes on by
	 * itself, and an interrupted import under an `Idempotency-Key` with the next part.
	 */
	import(owner: ImportOwner, lines?: Bytes, part?: ImportPart): Promise<RpcResult<NewSession | ArrivedPart>>;
	files(caller: Caller, page: FilePageQuery): Promise<RpcResult<FilePage>>;
	readFile(caller: Caller, path: string, request: FileRequest): Promise<RpcResult<FileDownload>>;
	/** Replaces the file at the path. Throws `precondition_failed` if the condition does not hold. */
	writeFile(caller: Caller, path: string, body: Bytes, condition: IfMatch): Promise<RpcResult<WrittenFile>>;
	removeFile(caller: Caller, path: string, condition: IfMatch): Promise<RpcResult<void>>;
	/** The changes of files as JSON, the newest first. */
	changes(caller: Caller, page: FilePageQuery): Promise<RpcResult<Bytes>>;
	/** Lists the tools that can be called without a run. With `create` the session need not exist. */
	tools(caller: Caller, agent: string, create?: CreateInput): Promise<RpcResult<readonly ListedTool[]>>;
	/** Calls a tool without a run. Returns lines of JSON (`OutsideLine`). Closing the stream aborts the call. */
	callTool(caller: Caller, call: OutsideCall, create?: CreateInput): Promise<RpcResult<Bytes>>;
	/** Not allowed with a token. */
	delete(caller: Caller): Promise<RpcResult<void>>;
}

export interface PageQuery {
	readonly cursor?: number;
	readonly limit?: number;
	/** The default is `asc`, oldest first. */
	readonly order?: 'asc' | 'desc';
	/** Whether replaced messages are included. They are by default. */
	readonly replaced?: 'false';
}

export interface SessionNamespace {
	newUniqueId(): DurableObjectId;
	idFromName(name: string): DurableObjectId;
	/** Parses an id. Throws for a text that is not an id of this namespace. */
	idFromString(id: string): DurableObjectId;
	get(id: DurableObjectId): SessionApi;
}

export type SessionChange = Shown<typeof changeBody>;

export type TokenRequest = Shown<typeof tokenBody>;
