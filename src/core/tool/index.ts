/** `tool`: functions and records that a model can call. */

export type { Env } from '../base/env.ts';
export { dispatch } from './call.ts';
export { attach, type Handler, type ToolData, toData } from './data.ts';
export { define, findByName, forAgent, fromFn, providerName, type ToolEntries, type ToolRecord } from './define.ts';
export {
	type AnyFn,
	type Fn,
	type FnMeta,
	type FnSchema,
	type FnSkillMeta,
	fn,
	isFn,
	type Param,
	schemaFromFn,
} from './fn.ts';
export type { InvokeContext, Outcome, ToolFailure } from './invoke.ts';
export type { FromAnySchema, FromJsonSchema } from './json-schema/infer.ts';
export { type AskUser, askUser, type Halt, halt, isAskUser, isHalt, isParts, type Parts, parts } from './results.ts';
export type { AnySchema, JsonSchema } from './schema.ts';
export { inMemoryState, type StateChanges, type StateStore, type ToolState } from './state.ts';
export type { Task, TaskList, TasksShown } from './tasks.ts';
export type {
	AnsweredCall,
	ConversationText,
	Label,
	LastWake,
	NewWakeup,
	Note,
	SearchService,
	Shell,
	ShellOutcome,
	ShellRequest,
	Tool,
	ToolCall,
	ToolContext,
	ToolForProvider,
	ToolResult,
	Wakeup,
	Wakeups,
	WakeupTime,
	WebAccess,
} from './tool.ts';
