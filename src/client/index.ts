/** `runlet/client`: talks to a Runlet server (docs/client.md). */
import { hc } from 'hono/client';
import { type AgentClient, createAgentClient } from './agents.ts';
import type { Api } from './api.ts';
import { createFeedbackClient, type FeedbackClient } from './feedback.ts';
import { type ClientOptions, createAuthorization, createHttp } from './http.ts';
import { createMemoryClient, type MemoryClient } from './memories.ts';
import {
	createMcpClient,
	createScheduleClient,
	createSkillClient,
	createToolClient,
	createUserClient,
	type McpClient,
	type ScheduleClient,
	type SkillClient,
	type ToolClient,
	type UserClient,
} from './owner.ts';
import { createSessionClient, type SessionClient } from './sessions.ts';

export type { AgentClient, CalledTool } from './agents.ts';
export type { Api } from './api.ts';
export { ClientError } from './error.ts';
export type { FeedbackClient } from './feedback.ts';
export type { ClientOptions, SignalOption } from './http.ts';
export type { MemoryClient } from './memories.ts';
export type { McpClient, ScheduleClient, SkillClient, ToolClient, UserClient } from './owner.ts';
export type { SessionClient } from './sessions.ts';
export type { RunEvents } from './stream.ts';
export type {
	AcceptedRun,
	Agent,
	AgentTool,
	AnswerBody,
	Approval,
	ApprovalPage,
	ApprovalQuery,
	Attachment,
	CallAnswer,
	ChildEvent,
	DecisionLinks,
	ErasedUser,
	ExportedSession,
	ExportedUser,
	Feedback,
	FeedbackBody,
	FeedbackPage,
	FeedbackQuery,
	FileChange,
	FileChangePage,
	FilePage,
	FoundRequest,
	Key,
	LinkBody,
	ListedFeedback,
	ListedSession,
	McpServer,
	McpServerBody,
	McpServerDetails,
	Me,
	Memory,
	MemoryPage,
	Message,
	MessageBody,
	NewSession,
	PublishedSkill,
	RerunBody,
	RunEvent,
	Schedule,
	ScheduleBody,
	Session,
	SessionBody,
	SessionChange,
	SessionFile,
	SessionPage,
	SessionQuery,
	SkillPage,
	Spending,
	SpendingQuery,
	TaskList,
	ToolCallBody,
	Trace,
	TraceQuery,
	Usage,
	UserBudget,
	UserCaps,
	UserTool,
	UserToolBody,
	WaitingCall,
	WaitingMessage,
} from './types.ts';

/** A client of a server: for sessions, users, tools, MCP servers, schedules, memories and skills. `v1` has all routes, without retries. */
export interface Client
	extends AgentClient,
		SessionClient,
		ToolClient,
		McpClient,
		ScheduleClient,
		FeedbackClient,
		MemoryClient,
		SkillClient,
		UserClient {
	/** Hono's client, typed by the API: `v1.skills[':name'].$get({ param: { name } })`. */
	readonly v1: ReturnType<typeof hc<Api>>['v1'];
}

/** Makes a client of a server. Requests and answers have the types of the API, but answers are not checked. */
export function createClient(options?: ClientOptions): Client;
export function createClient(baseUrl: string, options?: ClientOptions & { readonly key?: string }): Client;
export function createClient(
	urlOrOptions: ClientOptions | string = {},
	{ key, ...more }: ClientOptions & { readonly key?: string } = {},
): Client {
	const options = typeof urlOrOptions === 'string' ? { apiKey: key, ...more, baseUrl: urlOrOptions } : urlOrOptions;
	const { baseUrl = '', apiKey, fetch } = options;
	const headers = () => createAuthorization(apiKey);
	const http = createHttp(options);
	return {
		...createSessionClient(options),
		...createToolClient(http),
		...createMcpClient(http),
		...createAgentClient(http),
		...createScheduleClient(http),
		...createSkillClient(http),
		...createFeedbackClient(http),
		...createMemoryClient(http),
		...createUserClient(http),
		v1: hc<Api>(baseUrl, { headers, fetch }).v1,
	};
}
