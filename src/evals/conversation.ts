import { RunletError, toMessageText } from '../core/base/errors.ts';
import type { CallAnswer } from '../core/chat/call-answers.ts';
import type { MessagePart } from '../core/index.ts';
import { providerName } from '../core/tool/index.ts';
import type { PendingCall } from '../testing/index.ts';
import type { EvalCall, EvalCase, EvalMessage, EvalSession, Turn } from './define.ts';

/** A session of the agent, in memory or at a server. */
export interface Conversation {
	readonly model: string;
	/** Sends a message, or the answer to a question, and waits for the end of the run. Rejects if the run fails. */
	send(message: string | readonly MessagePart[]): Promise<void>;
	/** Answers a waiting call, and waits for the end of the run. Rejects if the run fails. */
	submit(answer: CallAnswer): Promise<void>;
	/** Lists the calls that wait for a person. */
	listPending(): readonly PendingCall[];
	read(): Promise<Observed>;
	close(): Promise<void>;
}

/** What can be read of a session. */
export interface Observed extends Pick<EvalSession, 'status' | 'messages' | 'tokens' | 'costUsd' | 'unpriced'> {}

/** Plays the turns of a case. Rejects with the number of the turn that failed. */
export async function play(conversation: Conversation, { input }: Pick<EvalCase, 'input'>): Promise<void> {
	const turns: readonly Turn[] = typeof input === 'string' ? [input] : input;
	for (const [at, turn] of turns.entries()) {
		try {
			await playTurn(conversation, turn);
		} catch (error) {
			const place = turns.length === 1 ? '' : `turn ${at + 1}: `;
			const isOpen = error instanceof RunletError && error.code === 'conflict';
			const remedy = isOpen ? ` ${describe(conversation.listPending())}` : '';
			throw new RunletError('eval_failed', `${place}${toMessageText(error)}${remedy}`);
		}
	}
}

async function playTurn(conversation: Conversation, turn: Turn): Promise<void> {
	if (typeof turn === 'string') return conversation.send(turn);
	if ('parts' in turn) return conversation.send(turn.parts);
	const tool = 'approve' in turn ? turn.approve : 'deny' in turn ? turn.deny : turn.result;
	const isDecision = !('result' in turn);
	const waiting = conversation.listPending();
	const call = waiting.find(
		({ name, kind }) => (name === tool || name === providerName(tool)) && (kind === 'approval') === isDecision,
	);
	if (call === undefined)
		throw new Error(`no call of ${tool} waits for ${isDecision ? 'a decision' : 'a result'}. ${describe(waiting)}`);
	const { id } = call;
	if ('result' in turn) return conversation.submit({ id, output: turn.output });
	if ('deny' in turn) return conversation.submit({ id, approve: false, reason: turn.reason });
	return conversation.submit({ id, approve: true, ...(turn.input && { input: turn.input }) });
}

function describe(waiting: readonly PendingCall[]): string {
	if (waiting.length === 0) return 'Nothing waits.';
	return `Waiting: ${waiting.map(({ name, kind }) => `${name} (${kind ?? 'result'})`).join(', ')}.`;
}

/** Lists the calls of the model, with their results. */
export function listCalls(messages: readonly EvalMessage[]): readonly EvalCall[] {
	return messages.flatMap(({ toolCalls = [] }, at) =>
		toolCalls.map(({ id, name, input }): EvalCall => {
			const result = messages.slice(at).find(({ toolCallId }) => toolCallId === id);
			if (result === undefined) return { name, input };
			return { name, input, output: result.content, ...(result.isError === true && { isError: true }) };
		}),
	);
}
