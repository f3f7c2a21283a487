/**
 * The exports of `runlet`. They run in Workers, Node, Deno, Bun and browsers, so no import needs a certain platform.
 */

export { type Actor, isSamePerson } from './base/actor.ts';
export { RunletError } from './base/errors.ts';
export type {
	ChatFn,
	ChatOptions,
	ChatReply,
	ChatStreamFn,
	ChatUsage,
	Message,
	MessagePart,
	Provider,
	ProviderRegistration,
	ReplyDelta,
	Run,
	RunEvent,
	RunResult,
	Step,
	StopReason,
	StreamStop,
} from './chat/index.ts';
export * as chat from './chat/index.ts';
export * as providers from './providers/index.ts';
export type { Skill, SkillResolver } from './skill/index.ts';
export * as skill from './skill/index.ts';
export * as tool from './tool/index.ts';
export {
	type AskUser,
	askUser,
	type Env,
	type Fn,
	fn,
	type Halt,
	halt,
	type JsonSchema,
	type Parts,
	parts,
	type SearchService,
	type Task,
	type TaskList,
	type Tool,
	type ToolCall,
	type ToolContext,
	type ToolForProvider,
	type ToolResult,
	type ToolState,
	type WebAccess,
} from './tool/index.ts';
export type { Toolbox, WebOptions } from './toolboxes/index.ts';
export * as toolbox from './toolboxes/index.ts';
export type { Workspace } from './workspace/index.ts';
export * as workspace from './workspace/index.ts';
