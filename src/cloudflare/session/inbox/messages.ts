import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import { messageText, type TerminalEvent, type ToolMessage, type UserMessage } from '../../../core/chat/index.ts';
import { readDecision } from '../../agent/child-decision.ts';
import { parseTreeId } from '../../agent/event-source.ts';
import { type Bytes, toFailure } from '../../objects/reach.ts';
import type {
	ConversationUpdate,
	CreateInput,
	Handling,
	Input,
	NewSession,
	PagePost,
	PassedReader,
	RunOutcome,
	RunResult,
	RunStream,
	SessionState,
} from '../../objects/session-api.ts';
import { createProtocol, type ProtocolContext } from '../../wire/protocols/format.ts';
import { showError } from '../../wire/shown-error.ts';
import { type FollowOptions, follow } from '../events/follow.ts';
import { createNoSuchEvent, formatEventId, isEnd, mostReaders, parseEventId, toStart } from '../events/log.ts';
import { passOn } from '../events/relay.ts';
import { createPastLog } from '../events/replay.ts';
import type { BeginOptions } from '../run/begin.ts';
import { createPastRun, createRunId, type LiveRun } from '../run/run.ts';
import { findOpenCalls } from '../store/calls.ts';
import type { toInbound } from '../store/inbound.ts';
import type { MessageRecord } from '../store/messages.ts';
import { canTakeNext, type Operation, sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { assertMeant, decideForChild, storeAnswers } from './answers.ts';
import type { AcceptedRequest, JoinChildren } from './inbox.ts';
import {
	findNewResults,
	findPlace,
	findReplaced,
	hasResults,
	isAnswered,
	isSameMessage,
	readRepeatedInput,
	repeatInbound,
} from './posted.ts';
import type { InboxTransaction, Principal, StoreResult, UpcomingRun } from './transaction.ts';

const longestQueue = 16;

type IncomingMessage = ReturnType<typeof toInbound>;

type About = Omit<BeginOptions, 'once'>;

export function createSession(tx: InboxTransaction, { input, ...create }: CreateInput): StoreResult {
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

export function visit({ store }: InboxTransaction): StoreResult {
	store.noteVisit(Date.now());
	return { type: 'change' };
}

/** Stores a message. The message begins a run, is queued, or answers the session's question. */
export function sendMessage(tx: InboxTransaction, input: Input): StoreResult {
	const { ofChild } = input;
	if (ofChild !== undefined) {
		const { children } = tx.store.calls;
		const child = children.listOpen().find(({ id }) => id === ofChild.id);
		if (child === undefined) return { type: 'join' };
		children.settle(ofChild.id, ofChild.spent);
		if (child.isLeft) return { type: 'join' };
	}
	const incoming = tx.toInbound(input);
	if (input.replaces === undefined) return storeMessage(tx, incoming, input);
	const { text, parts, attachments = [], model, callback } = input;
	const isEdited = text !== undefined || parts !== undefined || attachments.length > 0;
	const record = findReplaced(tx.store, input.replaces);
	return replaceMessage(tx, { record, isEdited, incoming }, { model, callback });
}

export function answerQuestion(tx: InboxTransaction, input: Input): StoreResult {
	tx.allow('answer');
	assertMeant(input, tx);
	const { message, inbound } = tx.toInbound(input);
	return storeReply(tx, [], message, { model: input.model, inbound });
}

export function finishLogin(tx: InboxTransaction, server: string): StoreResult {
	const { kind, server: waitsFor } = tx.pending.question?.options ?? {};
	if (tx.status !== 'awaiting_user' || kind !== 'login' || waitsFor !== server) return { type: 'join' };
	return answerQuestion(tx, { text: 'Logged in.', transport: 'mcp' });
}

export function converse(tx: InboxTransaction, update: ConversationUpdate): StoreResult {
	const { input, answers, after, clientTools, model, maxOutputTokens, toolChoice, terms } = update;
	if (after !== undefined && tx.store.runs.get()?.n !== after)
		throw createFieldError('conflict', 'input', 'the session went on meanwhile. Send the request again.');
	const operation = chooseOperation(tx, update);
	const asked = { model, maxOutputTokens, isContinued: operation === 'continue' };
	if (answers !== undefined) {
		tx.store.update({ clientTools });
		return storeAnswers(tx, answers, { model, maxOutputTokens, terms });
	}
	tx.allow(operation, operation === 'submit' ? undefined : asked);
	const results = findNewResults(tx.store, update.results, tx.pending);
	const incoming = input && tx.toInbound(input);
	tx.store.update({ clientTools });
	const about = { model, maxOutputTokens, toolChoice, terms, by: tx.by, inbound: incoming?.inbound };
	return incoming === undefined ? tx.storeRun(results, about) : storeReply(tx, results, incoming.message, about);
}

export function continueRun(tx: InboxTransaction, operation: 'continue' | 'step'): StoreResult {
	tx.allow(operation, { isContinued: true });
	return tx.storeRun([], { stopAfter: operation === 'step' ? 1 : undefined });
}

/** Stores what a page posts. A repeated post joins its earlier run. A post without anything new begins no run. */
export function storePost(tx: InboxTransaction, post: PagePost): StoreResult {
	const { input, model, answers = [], clientTools, isAgain = false, messageId } = post;
	if (input === undefined) return storePostedAnswers(tx, answers, model);
	tx.store.update({ clientTools });
	const incoming = tx.toInbound(input);
	const { queue } = tx.store;
	const queued = queue.findNamed(input.messageId);
	if (queued !== undefined) {
		if (!isAgain && !isSameMessage(queued.message, incoming.message))
			queue.edit({ ...queued, ...incoming }, Date.now());
		return tx.joinWaiting(queued);
	}
	const found = findPlace(tx.store, { message: incoming.message, ownId: input.messageId, isAgain, messageId });
	if (found === undefined) return storeMessage(tx, incoming, input);
	return 'run' in found ? tx.join(found) : replaceMessage(tx, { ...found, incoming }, { model });
}

function storePostedAnswers(
	tx: InboxTransaction,
	answers: readonly CallAnswer[],
	model: string | undefined,
): StoreResult {
	const { live } = tx.runner;
	if (live !== undefined) return { type: 'join', run: live };
	const open = tx.findOpenAnswers(answers);
	if (open.length > 0) return storeAnswers(tx, open, { model });
	const isOver = isAnswered(tx.store, answers);
	return { type: 'join', run: isOver ? createPastRun(tx.store, tx.store.nextRun - 1) : undefined };
}

function storeMessage(tx: InboxTransaction, incoming: IncomingMessage, input: Input): StoreResult {
	const { whenBusy = 'queue', isPatient = false, mayAnswer = false, model, callback, ofChild } = input;
	const { status } = tx;
	// Reports of children need no budget: a child repeats a refused report, and the number of children is limited.
	const asked = ofChild === undefined ? { model } : undefined;
	const isQuestion = isPatient && status === 'awaiting_user' && (!mayAnswer || tx.askedCall !== undefined);
	const isAsking = isQuestion || (isPatient && status === 'awaiting_tools');
	if (isQuestion && whenBusy === 'reject')
		throw createFieldError('conflict', 'whenBusy', 'the session waits for an answer of somebody else.');
	if (whenBusy !== 'reject' && (isAsking || tx.runner.live !== undefined)) {
		tx.allow(undefined, asked);
		return queueMessage(tx, incoming, input);
	}
	tx.allow('reply', asked);
	return storeReply(tx, [], incoming.message, { model, inbound: incoming.inbound, callback });
}

interface Replacement {
	readonly record: MessageRecord;
	/** Whether the content changes. If not, the same message is sent to the model again. */
	readonly isEdited: boolean;
	readonly incoming: IncomingMessage;
}

/** Replaces a message by a new one, or repeats it. Returns `cancel` if the current run has to be cancelled first. */
function replaceMessage(tx: InboxTransaction, { record, isEdited, incoming }: Replacement, about: About): StoreResult {
	if (tx.runner.live !== undefined || !canTakeNext(tx.status)) return { type: 'cancel' };
	const messages = readRepeatedInput(tx.store, record, isEdited ? incoming.message : undefined);
	const inbound = isEdited ? incoming.inbound : repeatInbound(record, incoming.inbound);
	tx.allow('reply', { model: about.model, isEdit: true });
	return tx.storeRun(messages, { ...about, inbound, replaces: record.seq });
}

/** Stores a message after the results that came with it. If the session asked a question, the message answers it. */
function storeReply(
	tx: InboxTransaction,
	results: readonly ToolMessage[],
	message: UserMessage,
	about: About,
): StoreResult {
	const { by, askedCall } = tx;
	if (results.length > 0 || tx.status !== 'awaiting_user' || tx.pending.question === undefined)
		return tx.storeRun([...results, message], about);
	const { question, asking } = tx.pending;
	if (askedCall !== undefined) {
		if (by?.via === 'mcp' || about.inbound?.transport === 'a2a') throw createTextRefusal();
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

function queueMessage(
	tx: InboxTransaction,
	incoming: IncomingMessage,
	{ whenBusy, model, callback }: Input,
): StoreResult {
	const { queue } = tx.store;
	if (queue.size >= longestQueue) {
		const text = `whenBusy: ${longestQueue} messages wait already. Send it when a run has ended, or cancel.`;
		throw new RunletError('conflict', text, { field: 'whenBusy', waiting: longestQueue });
	}
	const { live } = tx.runner;
	const steers = whenBusy === 'steer';
	const runId = createRunId();
	const { id } = queue.add({ ...incoming, runId, model, steers, callback }, tx.opened.once, Date.now());
	return steers && live !== undefined
		? tx.joinWaiting({ id, runId: live.record.id }, live.record.n)
		: tx.joinWaiting({ id, runId });
}

/** Creates the error for a text over MCP or A2A that would decide about a call. A model may have written the text. */
function createTextRefusal(): RunletError {
	const what =
		'a call waits for the approval of a person, and a text over MCP or A2A decides nothing. Decide on the page, by a link, by a data part of A2A, or over HTTP: POST …/tool-results.';
	return createFieldError('forbidden', 'text', what);
}

/**
 * Chooses the operation of an update: `reply` for a message without results, `submit` for results, or `continue` if the
 * failed run already has the results. Throws `invalid_request` for another agent or another user.
 */
function chooseOperation(
	{ store, session }: InboxTransaction,
	{ agent, user, results }: ConversationUpdate,
): Operation {
	const { agent: own, user: ownUser } = session;
	if (user !== undefined && user !== ownUser)
		throw createFieldError('invalid_request', 'user', 'the session has another user. Leave Runlet-Session out.');
	if (own !== agent) {
		const what = `this session is one of "${own}", not of "${agent}". Name that, or leave Runlet-Session out.`;
		throw createFieldError('invalid_request', 'model', what);
	}
	const run = store.runs.get();
	if (run === undefined || results.length === 0) return 'reply';
	return sessionStatus(run.status) === 'error' && hasResults(store, results) ? 'continue' : 'submit';
}

type Show =
	/** Returns the new session, which the answer includes. */
	| { readonly created: () => NewSession; readonly session?: undefined }
	/** Returns the session, which is the answer if there is no run. */
	| { readonly session: () => SessionState; readonly created?: undefined };

/** Answers a request in the requested form: with events, with the result of the run, or at once. */
export async function toRunOutcome(
	{ run, isReplay, lease, join, isOperator }: AcceptedRequest,
	how: Pick<Handling, 'delivery' | 'format'>,
	{ created, session }: Show,
): Promise<RunOutcome> {
	if (run === undefined) return { kind: 'session', session: created ? created() : session(), isReplay };
	const { delivery, format } = how;
	const { id: runId } = run.record;
	const about = { runId, isReplay };
	const reader = { isOperator, id: runId };
	if (delivery === 'stream') return { ...streamRun(run, format, { lease, join, isOperator }), ...about };
	if (delivery === 'accepted') return { kind: 'accepted', created: created?.(), ...about };
	const live = 'begun' in run ? await run.begun : run;
	const event = await live.ended;
	const protocol = createProtocol(format);
	if (protocol.result !== undefined) {
		const events = live.log.read(live.log.cursor(), Number.POSITIVE_INFINITY).map((stamped) => stamped.event);
		const whole = protocol.result(events);
		if ('error' in whole) return { kind: 'failed', error: showError(toFailure(whole.error), reader), ...about };
		return { kind: 'completion', ...whole, ...about };
	}
	if (event.type === 'error') {
		const error = new RunletError(event.code, event.message, event.data);
		return { kind: 'failed', error: showError(toFailure(error), reader), ...about };
	}
	return { kind: 'result', result: toRunResult(runId, event), created: created?.(), ...about };
}

interface Following extends Pick<Handling, 'format'>, Pick<Principal, 'lease' | 'isOperator'> {
	readonly join?: JoinChildren;
	/** What the protocol of an AI SDK page needs. */
	readonly protocol?: ProtocolContext;
	/** The instance of the session's object. */
	readonly boot: string;
	/** The place of a message of the newest run. A reader without a position begins with the turn of the message. */
	readonly turnOf?: number;
}

/**
 * Streams the events after a position. Returns nothing if there is no run, or the newest run was read to its end. Passes
 * on a reader of Runlet's own protocol or of an AI SDK page if a run without children has very many readers.
 */
export function streamEvents(
	store: SessionStore,
	live: LiveRun | undefined,
	lastEventId: string | undefined,
	{ format, turnOf, lease, join, isOperator, protocol: context, boot }: Following,
): Bytes | PassedReader | undefined {
	const newest = store.runs.get();
	const place = lastEventId && join ? parseTreeId(lastEventId.trim()) : undefined;
	const seen = lastEventId === undefined || lastEventId === '' ? undefined : parseEventId(place?.own ?? lastEventId);
	if (newest === undefined) return undefined;
	if (seen !== undefined && (seen.run < 1 || seen.run > newest.n)) throw createNoSuchEvent();
	// A reader at the end of a run continues with the next run, if any.
	const next = seen === undefined ? toStart(newest.n) : isEnd(seen) ? toStart(seen.run + 1) : seen;
	if (next.run > newest.n) return undefined;
	const protocol = createProtocol(format, context);
	const log = live?.record.n === next.run ? live.log : createPastLog(store, next.run);
	const begins = seen === undefined && turnOf !== undefined ? store.messages.get(turnOf) : undefined;
	const from = begins?.run === next.run ? log.findTurn(begins.turn?.iteration) : next;
	// A parent gets complete errors, and filters them for its own readers.
	const reader = { isOperator: isOperator || format?.type === 'lines', id: store.runs.get(from.run)?.id };
	const isOwn = format === undefined && join === undefined;
	if (log === live?.log && log.readers >= mostReaders && (isOwn || context !== undefined)) {
		const { id: session, owner, agent } = store.session();
		const head = context?.uiHead(log.run, false);
		return passOn(log, boot, { session, owner, agent, from: formatEventId(from), reader, token: lease?.grant, head });
	}
	return follow(log, from, protocol, { lease, reader, join: join && ((own) => join(own, place)) });
}

export function streamRun(
	run: LiveRun | UpcomingRun,
	format: Handling['format'],
	{
		protocol,
		isOperator,
		...joined
	}: Omit<FollowOptions, 'reader'> & Pick<Principal, 'isOperator'> & { readonly protocol?: ProtocolContext },
): RunStream {
	const reader = { isOperator, id: run.record.id };
	const log = 'begun' in run ? run.begun.then((live) => live.log) : run.log;
	return {
		kind: 'stream',
		runId: run.record.id,
		stream: follow(log, undefined, createProtocol(format, protocol), { ...joined, reader }),
	};
}

function toRunResult(runId: string, event: Exclude<TerminalEvent, { readonly type: 'error' }>): RunResult {
	switch (event.type) {
		case 'done':
			return { runId, ...dropType(event), status: 'completed' };
		case 'awaiting':
			return { runId, ...dropType(event) };
		case 'halted':
			return { runId, ...dropType(event), status: 'halted' };
		case 'cancelled':
			return { runId, ...dropType(event), status: 'cancelled' };
	}
}

function dropType<E extends TerminalEvent>({ type: _, ...rest }: E): Omit<E, 'type'> {
	return rest;
}
