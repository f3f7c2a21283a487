import { RecordedCalls } from '../core/chat/recorded-calls.ts';
import { askUser, parts, RunletError, type Tool, type ToolContext } from '../core/index.ts';
import { providerName } from '../core/tool/index.ts';
import type { Recording } from '../testing/index.ts';
import type { EvalCase, RecordedResult, Turn } from './define.ts';

type RecordedMessage = Recording['messages'][number];
type RecordedAnswer = Extract<RecordedMessage, { readonly role: 'tool' }>;

/**
 * Makes a case of a recording: its messages and decisions are the input, and its last answer is `expected`. With
 * `recorded` the tools give their recorded results, and do not run. Throws `invalid_request` if nobody sent a message.
 */
export function toCase(recording: Recording, tools: 'recorded' | 'live'): EvalCase<string> {
	const { user, metadata } = recording.session;
	const messages = recording.messages.filter(({ isReplaced }) => isReplaced !== true);
	const answer = messages.findLast((message) => message.role === 'assistant' && message.content !== '');
	const questions = new Map(
		listAwaiting(recording).flatMap(({ question }) => (question ? [[question.callId, question]] : [])),
	);
	const input = listTurns(recording, messages, questions);
	if (input.length === 0) throw new RunletError('invalid_request', 'recording: nobody sent a message.');
	return {
		input,
		...(answer !== undefined && { expected: String(answer.content) }),
		...(user !== undefined && { user }),
		...(metadata !== undefined && { metadata }),
		...(tools === 'recorded' && { recorded: listResults(messages, questions) }),
	};
}

type Questions = ReadonlyMap<string, NonNullable<RecordedResult['result']['question']>>;

/** Lists the ends of runs that waited for somebody. */
function listAwaiting({ runs }: Recording) {
	return runs.flatMap(({ stored: { end } }) => (end?.event.type === 'awaiting' ? [end.event] : []));
}

/** Lists what people did, in the order of the history. */
function listTurns(recording: Recording, messages: readonly RecordedMessage[], questions: Questions): readonly Turn[] {
	const waiting = listAwaiting(recording).flatMap(({ toolCalls = [] }) => toolCalls);
	const approvals = new Set(waiting.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])));
	return messages.flatMap((message, at): readonly Turn[] => {
		if (message.role === 'user') {
			if (message.isInput !== true || message.stored?.inbound?.by?.via === 'child') return [];
			return [message.parts === undefined ? message.content : { parts: message.parts }];
		}
		if (message.role !== 'tool') return [];
		const tool = findCall(messages, at, message.toolCallId)?.name ?? '';
		if (questions.has(message.toolCallId)) return [findAnswer(message)];
		if (message.stored?.isDenied === true) return [{ deny: tool, ...toReason(message) }];
		if (approvals.has(message.toolCallId))
			return [{ approve: tool, ...(message.ranWith && { input: message.ranWith }) }];
		return message.isInput === true ? [{ result: tool, output: message.content }] : [];
	});
}

/** The answer to a question: the result itself, or the note that the run showed before the result. */
function findAnswer({ content, isInput, stored }: RecordedAnswer): string {
	const note = stored?.before?.findLast((side) => side.type === 'note' && side.label === 'Answer');
	return note?.type === 'note' && isInput !== true ? (note.detail ?? '') : String(content);
}

function toReason({ content }: RecordedAnswer): { readonly reason?: string } {
	const [, reason] = /^A person did not allow this call: (.+)$/s.exec(String(content)) ?? [];
	return reason === undefined ? {} : { reason };
}

/** Finds the call that a result belongs to. A later turn may repeat an id. */
function findCall(messages: readonly RecordedMessage[], before: number, id: string) {
	const calls = messages.slice(0, before).flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []));
	return calls.findLast((call) => call.id === id);
}

/** Lists the results that tools gave. */
function listResults(messages: readonly RecordedMessage[], questions: Questions): readonly RecordedResult[] {
	return messages.flatMap((message, at) => {
		if (message.role !== 'tool' || message.stored?.isDenied === true) return [];
		const question = questions.get(message.toolCallId);
		const call = findCall(messages, at, message.toolCallId);
		if (call === undefined || (message.isInput === true && question === undefined)) return [];
		const { content, isError, parts: inParts, ranWith } = message;
		const result = { content, isError, parts: inParts, question };
		return [{ tool: call.name, input: ranWith ?? call.input, result }];
	});
}

/** Returns tools that give recorded results. A call that was not recorded fails. Tools without a function stay. */
export function answerFrom(recorded: readonly RecordedResult[], tools: readonly Tool[]): readonly Tool[] {
	const calls = new RecordedCalls(recorded);
	const asking = new Map<string, RecordedResult['result']>();
	return tools.map((tool): Tool => {
		if (tool.fn === undefined || tool.manual === true) return tool;
		return {
			...tool,
			// A copy of the schema lets the arguments be as the model gave them, without defaults.
			inputSchema: structuredClone(tool.inputSchema),
			passInput: true,
			fn: (input: unknown, { callId }: ToolContext) => {
				const found = calls.take(providerName(tool.name), input)?.result;
				if (found === undefined)
					throw new RunletError('invalid_argument', 'The recording has no result for this call with these arguments.');
				if (found.question === undefined) return giveResult(found);
				asking.set(callId, found);
				return askUser(found.question.question, found.question.options, {});
			},
			onAnswer: (_, __, { callId }) => giveResult(asking.get(callId) ?? { content: '' }),
		};
	});
}

function giveResult({ content, isError, parts: given }: RecordedResult['result']): unknown {
	if (isError === true) throw new RunletError('invalid_argument', String(content));
	return given === undefined ? content : parts(given);
}
