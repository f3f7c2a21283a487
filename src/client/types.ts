/** The types of the client, from `cloudflare/wire`. */
import type * as v from 'valibot';
import type { agent } from '../cloudflare/wire/agent.ts';
import type { approvalPage, approvalQuery } from '../cloudflare/wire/approval.ts';
import type { providerCall, resultsBody, source, waitingCall } from '../cloudflare/wire/call.ts';
import type { runEvent } from '../cloudflare/wire/event.ts';
import type { feedback, feedbackBody, feedbackPage, feedbackQuery } from '../cloudflare/wire/feedback.ts';
import type { file, fileChangePage, filePage } from '../cloudflare/wire/file.ts';
import type { listedKey } from '../cloudflare/wire/key.ts';
import type { serverBody, shownServer, shownServerDetails } from '../cloudflare/wire/mcp.ts';
import type { me } from '../cloudflare/wire/me.ts';
import type { memoryPage, shownMemory } from '../cloudflare/wire/memory.ts';
import type { answerBody, messageBody, shownMessage, waitingMessages } from '../cloudflare/wire/message.ts';
import type { foundRequest } from '../cloudflare/wire/request.ts';
import type { acceptedRun, usage } from '../cloudflare/wire/run.ts';
import type { schedule, scheduleBody, schedulePage, wake } from '../cloudflare/wire/schedule.ts';
import type {
	changeBody,
	newSession,
	rerunBody,
	session,
	sessionBody,
	sessionPage,
	sessionQuery,
	taskLists,
} from '../cloudflare/wire/session.ts';
import type { publishedSkill, skillPage } from '../cloudflare/wire/skill.ts';
import type { spending, spendingQuery } from '../cloudflare/wire/spending.ts';
import type { decisionLinks, linkBody } from '../cloudflare/wire/token.ts';
import type { shownTool, toolBody } from '../cloudflare/wire/tool.ts';
import type { agentTools, toolCallBody, toolCallEnd } from '../cloudflare/wire/tool-call.ts';
import type { trace, traceQuery } from '../cloudflare/wire/trace.ts';
import type { erasedUser, exportedUser, userBudget, userBudgetBody } from '../cloudflare/wire/user.ts';

/** The query of a list. `limit` is a number here, but text in the URL. */
type Query<S extends v.GenericSchema<{ readonly limit?: string }, unknown>> = Omit<v.InferInput<S>, 'limit'> & {
	readonly limit?: number;
};

/** An API key, without its secret. */
export type Key = v.InferOutput<typeof listedKey>;
/** Who the caller is, and what the caller may do. */
export type Me = v.InferOutput<typeof me>;
export type Agent = v.InferOutput<typeof agent>;
/** A tool of an agent, with the JSON Schema of its arguments. */
export type AgentTool = v.InferOutput<typeof agentTools>['tools'][number];
/** A call of a tool without a run, or a person's answer to it. */
export type ToolCallBody = v.InferInput<typeof toolCallBody>;
/** The result of a call without a run, or what the call waits for. */
export type ToolCallEnd = v.InferOutput<typeof toolCallEnd>;
export type Usage = v.InferOutput<typeof usage>;
/** A call of a tool that the provider of the model ran itself. */
export type ProviderCall = v.InferOutput<typeof providerCall>;
/** A source of an answer: a page or a document. */
export type Source = v.InferOutput<typeof source>;

/** A session: its status, its waiting calls, and its budget. */
export type Session = v.InferOutput<typeof session>;
export type SessionBody = v.InferOutput<typeof sessionBody>;
export type SessionChange = v.InferInput<typeof changeBody>;
/** A new session with its token. `runId` is the run of its first message. */
export type NewSession = v.InferOutput<typeof newSession> & Partial<v.InferOutput<typeof acceptedRun>>;

/** A run that runs again with another model or prompt. */
export type RerunBody = v.InferOutput<typeof rerunBody>;

/** A page of the sessions of an owner, the newest activity first. */
export type SessionPage = v.InferOutput<typeof sessionPage>;
export type SessionQuery = Query<typeof sessionQuery>;
/** An entry of the list of sessions. */
export type ListedSession = SessionPage['sessions'][number];

/** The traces of a session as OTLP/JSON. */
export type Trace = v.InferOutput<typeof trace>;
export type TraceQuery = Pick<v.InferInput<typeof traceQuery>, 'run'> & { readonly content?: boolean };

export type { ExportedSession } from '../cloudflare/wire/export.ts';

/** The session and the run of a request. */
export type FoundRequest = v.InferOutput<typeof foundRequest>;

export type Message = v.InferOutput<typeof shownMessage>;
export type MessageBody = v.InferOutput<typeof messageBody>;
/** A message that waits to start a run. The run will have the message's `id`. */
export type WaitingMessage = v.InferOutput<typeof waitingMessages>['waiting'][number];
export type AcceptedRun = v.InferOutput<typeof acceptedRun>;
export type Attachment = NonNullable<MessageBody['attachments']>[number];

/** A list of tasks that tools of the session keep. A task is open until it has an outcome. */
export type TaskList = v.InferOutput<typeof taskLists>['lists'][number];

/** A tool call that waits for its result or, with the kind `approval`, for permission to run. */
export type WaitingCall = v.InferOutput<typeof waitingCall>;
/** A page of the calls that wait for a person, in all of an owner's sessions, oldest first. */
export type ApprovalPage = v.InferOutput<typeof approvalPage>;
export type ApprovalQuery = Query<typeof approvalQuery>;
/** A call that waits for a person, in one of the owner's sessions. */
export type Approval = ApprovalPage['approvals'][number];
/** What a person said about the answer of a run. */
export type Feedback = v.InferOutput<typeof feedback>;
export type FeedbackBody = v.InferInput<typeof feedbackBody>;
/** A page of the feedback in all of an owner's sessions, the newest first. */
export type FeedbackPage = v.InferOutput<typeof feedbackPage>;
export type FeedbackQuery = Query<typeof feedbackQuery>;
/** The feedback about a run, in one of the owner's sessions. */
export type ListedFeedback = FeedbackPage['feedback'][number];
/** Links to decide about a call. Whoever has a link can decide. */
export type DecisionLinks = v.InferOutput<typeof decisionLinks>;
export type LinkBody = v.InferOutput<typeof linkBody>;
export type AnswerBody = v.InferOutput<typeof answerBody>;
/** The answer to a waiting call: its result, or whether it is allowed to run. */
export type CallAnswer = v.InferOutput<typeof resultsBody>[number];

export type SkillPage = v.InferOutput<typeof skillPage>;
/** The answer to a publication: the new version, and the places where the skill violates the format. */
export type PublishedSkill = v.InferOutput<typeof publishedSkill>;

/** What owners spent, by day. */
export type Spending = v.InferOutput<typeof spending>;
export type SpendingQuery = Omit<v.InferInput<typeof spendingQuery>, 'days'> & { readonly days?: number };

/** Everything that is stored about a user. */
export type ExportedUser = v.InferOutput<typeof exportedUser>;
export type ErasedUser = v.InferOutput<typeof erasedUser>;
/** The budget of a user, and its use. */
export type UserBudget = v.InferOutput<typeof userBudget>;
export type UserCaps = v.InferInput<typeof userBudgetBody>;

/** An HTTP tool that an owner has defined. */
export type UserTool = v.InferOutput<typeof shownTool>;
export type UserToolBody = v.InferInput<typeof toolBody>;

/** A schedule of a session or an agent, and the result of its last run. */
export type Schedule = v.InferOutput<typeof schedule>;
export type SchedulePage = v.InferOutput<typeof schedulePage>;
/** What became of a schedule's time. */
export type Wake = v.InferOutput<typeof wake>;
export type ScheduleBody = v.InferInput<typeof scheduleBody>;

/** A memory of a person: a short text at a path, and its last author. */
export type Memory = v.InferOutput<typeof shownMemory>;
export type MemoryPage = v.InferOutput<typeof memoryPage>;

/** An MCP server of an owner or of agents. */
export type McpServer = v.InferOutput<typeof shownServer>;
export type McpServerBody = v.InferInput<typeof serverBody>;
/** A server with its tools, or with the reason why they could not be listed. */
export type McpServerDetails = v.InferOutput<typeof shownServerDetails>;

export type SessionFile = v.InferOutput<typeof file>;
export type FilePage = v.InferOutput<typeof filePage>;
export type FileChangePage = v.InferOutput<typeof fileChangePage>;
/** What a change did to a file. */
export type FileChange = FileChangePage['changes'][number];

type WireEvent = v.InferOutput<typeof runEvent>;
/** The last event of a stream that ends before its run. */
export type ClosedEvent = Extract<WireEvent, { type: 'closed' }>;
/** An event of a run, by its `type`. Ignore unknown types, because a server can send others. */
export type RunEvent = Exclude<WireEvent, ClosedEvent | ShownChild> | ChildEvent;
type ShownChild = Extract<WireEvent, { type: 'child' }>;
/** An event of a child session, which works for a call. */
export type ChildEvent = Omit<ShownChild, 'event'> & { event: RunEvent };
