import { RunletError } from '../../../core/base/errors.ts';
import { messageText, type ToolMessage, type UserMessage } from '../../../core/chat/index.ts';
import { readDecision } from '../../agent/child-decision.ts';
import type { ConversationUpdate, CreateInput, Input } from '../../objects/session-api.ts';
import type { BeginOptions } from '../run/begin.ts';
import { createRunId } from '../run/run.ts';
import { findOpenCalls } from '../store/calls.ts';
import type { toInbound } from '../store/inbound.ts';
import type { MessageRecord } from '../store/message-record.ts';
import { canTakeNext, type Operation, sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { assertMeant, decideForChild } from './answers.ts';
import { findNewResults, findReplaced, hasResults, readRepeatedInput, repeatInbound } from './posted.ts';
import type { InboxTransaction, Stored } from './transaction.ts';

/** Messages that may wait for a run to end. */
const longestQueue = 16;

/** A message from outside, and what is stored beside it. */
export type IncomingMessage = ReturnType<typeof toInbound>;

/** The options of a run that a message begins. */
type About = Omit<BeginOptions, 'once'>;

/** Stores what comes with a new session: its first token, and its first message, if there is one. */
export function createSession(tx: InboxTransaction, { input, ...create }: CreateInput): Stored {
	const { by } = tx;
	if (input !== undefined) tx.allow('reply', {});
	tx.context.authorization.tokens.addFirst(by, create.for);
	if (input !== undefined) {
		const { message, inbound } = tx.toInbound(input);
		return tx.storeRun([message], { inbound });
	}
	tx.noteAccepted();
	return { type: 'change' };
}

/** Stores that the session is active, without a run. */
export function visit({ store }: InboxTransaction): Stored {
	store.noteVisit(Date.now());
	return { type: 'change' };
}

/** Stores a message: it begins its run, or waits for the current run, or for somebody whom the session waits for. */
export function sendMessage(tx: InboxTransaction, input: Input): Stored {
	const { ofChild } = input;
	if (ofChild !== undefined) {
		const { children } = tx.store.calls;
		const child = children.listOpen().find(({ id }) => id === ofChild.id);
		if (child === undefined) return { type: 'join' };
		children.settle(ofChild.id, ofChild.spent);
		if (child.isLeft) return { type: 'join' };
	}
	const given = tx.toInbound(input);
	if (input.replaces === undefined) return storeMessage(tx, given, input);
	const { text, parts, attachments = [], model, callback } = input;
	const isEdited = text !== undefined || parts !== undefined || attachments.length > 0;
	const record = findReplaced(tx.store, input.replaces);
	return replaceMessage(tx, { record, isEdited, given }, { model, callback });
}

/** Stores the answer to a tool's question. */
export function answerQuestion(tx: InboxTransaction, input: Input): Stored {
	tx.allow('answer');
	assertMeant(input, tx);
	const { message, inbound } = tx.toInbound(input);
	return storeReply(tx, [], message, { model: input.model, inbound });
}

/** Answers the question of a call that waited for a login. Stores nothing where no question waits for it. */
export function finishLogin(tx: InboxTransaction, server: string): Stored {
	const { kind, server: asked } = tx.pending.question?.options ?? {};
	if (tx.status !== 'awaiting_user' || kind !== 'login' || asked !== server) return { type: 'join' };
	return answerQuestion(tx, { text: 'Logged in.', transport: 'mcp' });
}

/** Stores the new part of a conversation that a client sends as a whole. */
export function converse(tx: InboxTransaction, update: ConversationUpdate): Stored {
	const { input, clientTools, model, maxOutputTokens, toolChoice, terms } = update;
	const operation = chooseOperation(tx.store, update);
	const asked = { model, maxOutputTokens, isContinued: operation === 'continue' };
	tx.allow(operation, operation === 'submit' ? undefined : asked);
	const results = findNewResults(tx.store, update.results, tx.pending);
	const given = input && tx.toInbound(input);
	tx.store.update({ clientTools });
	const about = { model, maxOutputTokens, toolChoice, terms, by: tx.by, inbound: given?.inbound };
	return given === undefined ? tx.storeRun(results, about) : storeReply(tx, results, given.message, about);
}

/** Stores a run that continues one that failed, or that stopped after a step. */
export function continueRun(tx: InboxTransaction, operation: 'continue' | 'step'): Stored {
	tx.allow(operation, { isContinued: true });
	return tx.storeRun([], { stopAfter: operation === 'step' ? 1 : undefined });
}

/** Stores a message that replaces nothing. */
export function storeMessage(tx: InboxTransaction, given: IncomingMessage, input: Input): Stored {
	const { whenBusy = 'queue', isPatient = false, mayAnswer = false, model, callback, ofChild } = input;
	const { status } = tx;
	// The report of a child is bounded by the number of children, and the child would repeat it.
	const asked = ofChild === undefined ? { model } : undefined;
	const isQuestion = isPatient && status === 'awaiting_user' && (!mayAnswer || tx.askedCall !== undefined);
	const isAsking = isQuestion || (isPatient && status === 'awaiting_tools');
	if (isQuestion && whenBusy === 'reject')
		throw new RunletError('conflict', 'whenBusy: the session waits for an answer of somebody else.', {
			field: 'whenBusy',
		});
	if (whenBusy !== 'reject' && (isAsking || tx.runner.live !== undefined)) {
		tx.allow(undefined, asked);
		return queueMessage(tx, given, input);
	}
	tx.allow('reply', asked);
	return storeReply(tx, [], given.message, { model, inbound: given.inbound, callback });
}

/** Stores a message in the place of an earlier one, or asks that one again. The current run is cancelled first. */
export function replaceMessage(
	tx: InboxTransaction,
	{
		record,
		isEdited,
		given,
	}: { readonly record: MessageRecord; readonly isEdited: boolean; readonly given: IncomingMessage },
	about: About,
): Stored {
	if (tx.runner.live !== undefined || !canTakeNext(tx.status)) return { type: 'cancel' };
	const messages = readRepeatedInput(tx.store, record, isEdited ? given.message : undefined);
	const inbound = isEdited ? given.inbound : repeatInbound(record, given.inbound);
	tx.allow('reply', { model: about.model, isEdit: true });
	return tx.storeRun(messages, { ...about, inbound, replaces: record.seq });
}

/** Stores a person's message, behind the results that come with it. If the session has asked, it is the answer. */
function storeReply(tx: InboxTransaction, results: readonly ToolMessage[], message: UserMessage, about: About): Stored {
	const { by, askedCall } = tx;
	if (results.length > 0 || tx.status !== 'awaiting_user' || tx.pending.question === undefined)
		return tx.storeRun([...results, message], about);
	const { question, asking } = tx.pending;
	if (askedCall !== undefined) {
		if (by?.via === 'mcp') throw createTextRefusal();
		return decideForChild(tx, askedCall, readDecision(askedCall.call.id, messageText(message)), about);
	}
	if (asking !== undefined) {
		const answered = { call: asking, text: messageText(message), by, inbound: about.inbound };
		return tx.storeRun([], { ...about, by, answered });
	}
	const { content, parts } = message;
	const noted = findOpenCalls(tx.store).find(({ call }) => call.id === question.callId)?.noted;
	const ranWith = noted?.ranWith && { ranWith: noted.ranWith };
	const answer = { role: 'tool', content, toolCallId: question.callId, isError: false, parts, ...ranWith } as const;
	return tx.storeRun([answer], about);
}

/** Stores a message that waits for the end of the current run. */
function queueMessage(tx: InboxTransaction, given: IncomingMessage, { whenBusy, model, callback }: Input): Stored {
	const { queue } = tx.store;
	if (queue.size >= longestQueue) {
		const text = `whenBusy: ${longestQueue} messages wait already. Send it when a run has ended, or cancel.`;
		throw new RunletError('conflict', text, { field: 'whenBusy', waiting: longestQueue });
	}
	const { live } = tx.runner;
	const steers = whenBusy === 'steer';
	const runId = createRunId();
	const { id } = queue.add({ ...given, runId, model, steers, callback }, tx.opened.once, Date.now());
	return steers && live !== undefined
		? tx.joinWaiting({ id, runId: live.record.id }, live.record.n)
		: tx.joinWaiting({ id, runId });
}

/** The error for a text over MCP that would decide about a call: a model may have written it. */
function createTextRefusal(): RunletError {
	const message =
		'text: a call waits for the approval of a person, and a text over MCP decides nothing. Decide on the page, by a link, or over HTTP: POST …/tool-results.';
	return new RunletError('forbidden', message, { field: 'text' });
}

/**
 * Finds what an update does: it brings a message, answers open calls, or continues a run that has these answers and
 * failed. Throws `invalid_request` where it names another agent.
 */
function chooseOperation(store: SessionStore, { agent, user, results }: ConversationUpdate): Operation {
	const { agent: own, user: ownUser } = store.session();
	if (user !== undefined && user !== ownUser)
		throw new RunletError('invalid_request', 'user: this session belongs to somebody else. Leave Runlet-Session out.', {
			field: 'user',
		});
	if (own !== agent) {
		const message = `model: this session is one of "${own}", not of "${agent}". Name that, or leave Runlet-Session out.`;
		throw new RunletError('invalid_request', message, { field: 'model' });
	}
	const run = store.runs.get();
	if (run === undefined || results.length === 0) return 'reply';
	return sessionStatus(run.status) === 'error' && hasResults(store, results) ? 'continue' : 'submit';
}
