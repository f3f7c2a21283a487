/** What a session waits for, and which call an answer is for. */

import { ClientError } from './error.ts';
import { isRecord } from './record.ts';
import { say } from './say.ts';
import type { CallAnswer, Session, WaitingCall } from './types.ts';

/** A question of a tool, with its data for the page. */
export interface Question {
	readonly callId: string;
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** The child session's call that a question is about. */
interface ChildCall {
	readonly agent: string | undefined;
	readonly call: WaitingCall;
}

/** Finds the child session's call, if a question requests that call's approval or result (docs/agents.md). */
export function findChildCall({ options = {} }: Pick<Question, 'options'>): ChildCall | undefined {
	const { child, kind, call, flow, preview } = options;
	if (!isRecord(child) || !isRecord(call) || typeof call.id !== 'string' || typeof call.name !== 'string')
		return undefined;
	const { id, name, input } = call;
	const agent = typeof child.agent === 'string' ? child.agent : undefined;
	const why = { ...(isFlow(flow) && { flow }), ...(typeof preview === 'string' && { preview }) };
	if (kind === 'approval') return { agent, call: { id, name, input, kind, ...why } };
	return kind === 'result' ? { agent, call: { id, name, input } } : undefined;
}

/** Converts the answer to a child's call to the text that the parent expects. */
export function toChildAnswer(answer: CallAnswer): string {
	if ('output' in answer) return String(answer.output);
	if (!answer.approve) return `deny ${answer.reason ?? ''}`.trim();
	return answer.input === undefined ? 'approve' : `approve ${JSON.stringify(answer.input)}`;
}

/** The maximum number of choices that are offered. */
const mostChoices = 12;

/** Returns the answers that a question offers, if it offers any. */
export function findChoices({ options = {} }: Pick<Question, 'options'>): readonly string[] | undefined {
	const { choices } = options;
	const isTexts = Array.isArray(choices) && choices.every((text) => typeof text === 'string');
	return isTexts && choices.length > 0 && choices.length <= mostChoices ? choices : undefined;
}

function isFlow(value: unknown): value is NonNullable<WaitingCall['flow']> {
	if (!isRecord(value)) return false;
	const isSource = (one: unknown) => isRecord(one) && typeof one.what === 'string';
	const { targets, outside, private: own } = value;
	const isTargets = Array.isArray(targets) && targets.every((target) => typeof target === 'string');
	return isTargets && [outside, own].every((list) => Array.isArray(list) && list.every(isSource));
}

/** Returns the id of the call that the answer to a question is for. */
export function findAnswered(question: Question): string {
	return findChildCall(question)?.call.id ?? question.callId;
}

/** Whether a session waits for the answer to a call. */
export function isWaitingFor({ toolCalls = [], question }: Pick<Session, 'toolCalls' | 'question'>, call: string) {
	return toolCalls.some(({ id }) => id === call) || (question !== undefined && findAnswered(question) === call);
}

/** Makes the error for a person who answered after somebody else. */
export function createAnsweredError(): ClientError {
	const words = say('Somebody has answered this meanwhile, so nothing was sent. This is how it stands now.');
	return new ClientError('conflict', words, { status: 409 });
}
