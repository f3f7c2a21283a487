/** `tool`: functions and records that a model may call. */

export type { Env } from '../ground/env.ts';
export { type AskUser, askUser, type Halt, halt, isAskUser, isHalt } from './control.ts';
export { attach, type Handler, type ToolData, toData } from './data.ts';
export { define, findByName, forAgent, fromFn, type ToolEntries, type ToolRecord } from './define.ts';
export { dispatch } from './dispatch.ts';
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
export { isParts, type Parts, parts } from './parts.ts';
export { providerName } from './provider-name.ts';
export type { AnySchema, JsonSchema } from './schema.ts';
export type { Shell, ShellOutcome, ShellRequest } from './shell.ts';
export { inMemoryState, type StateChanges, type StateStore, type ToolState } from './state.ts';
export type { Task, TaskList, TasksShown } from './task-list.ts';
export type {
	AnsweredCall,
	ConversationText,
	Note,
	SearchService,
	Tool,
	ToolCall,
	ToolContext,
	ToolForProvider,
	ToolResult,
	WebAccess,
} from './tool.ts';
export type { LastWake, NewWakeup, Wakeup, Wakeups, WakeupTime } from './wakeups.ts';
