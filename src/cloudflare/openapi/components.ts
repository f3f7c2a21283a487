import type * as v from 'valibot';
import { agent } from '../wire/agent.ts';
import { attachment } from '../wire/attachment.ts';
import { budgetSchema, budgetState } from '../wire/budget.ts';
import { approvalEntry, question, resultEntry, toolCall, waitingCall } from '../wire/call.ts';
import { errorBody } from '../wire/error.ts';
import { runEvent } from '../wire/event.ts';
import { answerBody, messageBody, shownMessage } from '../wire/message.ts';
import { part } from '../wire/part.ts';
import { chunkSchema, completionSchema, errorSchema } from '../wire/protocols/openai/completion.ts';
import { completionRequest, messageSchema } from '../wire/protocols/openai/schema.ts';
import { runResult } from '../wire/run.ts';
import { session, sessionBody } from '../wire/session.ts';
import { listedSkill, skill } from '../wire/skill.ts';
import { usage } from '../wire/usage.ts';

/** The named schemas of the document. Every use of one refers to its name. */
export const components: Readonly<Record<string, v.GenericSchema>> = {
	Agent: agent,
	Answer: answerBody,
	Approval: approvalEntry,
	Attachment: attachment,
	Budget: budgetSchema,
	BudgetState: budgetState,
	Completion: completionSchema,
	CompletionChunk: chunkSchema,
	CompletionInput: completionRequest,
	CompletionMessage: messageSchema,
	Error: errorBody,
	ListedSkill: listedSkill,
	Message: shownMessage,
	MessageInput: messageBody,
	MessagePart: part,
	OpenAIError: errorSchema,
	Question: question,
	RunEvent: runEvent,
	RunResult: runResult,
	Session: session,
	SessionInput: sessionBody,
	Skill: skill,
	ToolCall: toolCall,
	ToolResult: resultEntry,
	Usage: usage,
	WaitingCall: waitingCall,
};
