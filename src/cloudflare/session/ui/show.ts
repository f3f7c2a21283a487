import { RunletError } from '../../../core/base/errors.ts';
import { messageText, type TerminalEvent } from '../../../core/chat/index.ts';
import type { Label } from '../../../core/tool/index.ts';
import { readTaskLists } from '../../../core/tool/tasks.ts';
import { listCallLabels, readLabels, type ToolWords } from '../../agent/labels.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { type BudgetState, minus, nothing } from '../../objects/budget.ts';
import type { FoundRequest, FoundRun, PageQuery, RunChain, SessionState } from '../../objects/session-api.ts';
import type { feedback } from '../../wire/feedback.ts';
import type { shownMessage, waitingMessages } from '../../wire/message.ts';
import type { Shown } from '../../wire/operation.ts';
import type { listedRun, taskLists } from '../../wire/session.ts';
import { type Reader, showError } from '../../wire/shown-error.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { findPending } from '../store/calls.ts';
import type { Inbound } from '../store/inbound.ts';
import { type MessageRecord, messageStride } from '../store/messages.ts';
import type { Feedback, RunRecord } from '../store/runs.ts';
import { createRunState, isWaiting } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

const pageBytes = 4_000_000;

interface Showing extends Pick<Reader, 'isOperator'> {
	readonly runner: { budget(): BudgetState };
	readonly runtime: Pick<Runtime, 'agents'>;
	readonly config: () => Pick<Config, 'model'>;
}

export function showSession(
	store: SessionStore,
	{ runner, runtime: { agents }, config, isOperator }: Showing,
): SessionState {
	const { id, agent, title, user, model, metadata, createdAt, parent, rerun } = store.session();
	const run = store.runs.get();
	const last = run?.end?.event;
	const { question, calls, askedAt } = findPending(store);
	const { approvalMs } = agents.find(({ name }) => name === agent) ?? {};
	const toTime = (at: number) => new Date(at).toISOString();
	const waiting = store.queue.size;
	const children = store.calls.children.list().map(({ id, agent, callId, budget, isBackground, cost: spent }) => {
		return { id, agent, callId, budget, ...(isBackground && { background: true as const }), spent };
	});
	return {
		id,
		agent,
		model: model ?? agents.find(({ name }) => name === agent)?.model ?? config().model,
		status: store.status,
		createdAt: toTime(createdAt),
		title,
		user,
		metadata,
		run: run && {
			id: run.id,
			status: run.status,
			reason: last?.type === 'halted' ? last.reason : undefined,
			feedback: showFeedback(run.end?.feedback),
		},
		error: last?.type === 'error' ? toShown(last, { isOperator, id: run?.id }) : undefined,
		question,
		toolCalls: calls,
		wait: isWaiting(store.status)
			? { since: toTime(askedAt), ...(calls && approvalMs && { expiresAt: toTime(askedAt + approvalMs) }) }
			: undefined,
		parent: parent && { id: parent.id },
		rerunOf: rerun && { sessionId: rerun.session, runId: rerun.run },
		children: children.length > 0 ? children : undefined,
		waiting: waiting > 0 ? waiting : undefined,
		budget: runner.budget(),
		bytes: store.bytes,
	};
}

export function showCleared(store: SessionStore): SessionState['cleared'] {
	const { cleared } = store.session();
	return cleared?.map(({ label, by, at }) => ({
		label,
		by: by?.user ?? by?.via ?? 'key',
		at: new Date(at).toISOString(),
	}));
}

function toShown(error: Extract<TerminalEvent, { readonly type: 'error' }>, reader: Reader) {
	const { code, message } = showError(error, reader);
	return { code, message };
}

/** Shows a page of the history. `cursor` is the place of the next page. */
export function showMessages(
	store: SessionStore,
	{ cursor, limit = 100, order, replaced }: PageQuery,
	words: ToolWords,
) {
	const place = order === 'desc' ? { to: cursor, isBackward: true } : { from: cursor };
	const { records, next } = store.messages.page({
		...place,
		limit,
		bytes: pageBytes,
		withReplaced: replaced !== 'false',
	});
	const runs = new Map<number, RunRecord | undefined>();
	const messages = records.map((record) => {
		if (!runs.has(record.run)) runs.set(record.run, store.runs.get(record.run));
		return showRated(store, record, runs.get(record.run), words);
	});
	return { messages, cursor: next === undefined ? undefined : String(next) };
}

/** Shows the session, and the run that a request began, or that its message joined or waits for. */
export function showRequest(store: SessionStore, requestId: string, reader: Pick<Reader, 'isOperator'>): FoundRequest {
	const { id, agent, title, user } = store.session();
	const session = { id, agent, title, user, status: store.status };
	const run = store.runs.findRequested(requestId) ?? findJoined(store, requestId);
	const newest = showStatus(store.runs.get(), reader);
	if (run !== undefined) return { session, run: showStatus(run, reader), newest };
	const waiting = store.queue.all().find(({ inbound }) => inbound?.requestId === requestId);
	if (waiting === undefined) return { session, newest };
	const { runId, steers } = waiting;
	return { session, run: steers ? newest : { id: runId, status: 'waiting' }, newest };
}

/** Returns the run that the message of a request joined. */
function findJoined({ messages, runs }: SessionStore, requestId: string): RunRecord | undefined {
	const sent = messages.findRequested(requestId);
	return sent && runs.get(sent.run);
}

/** Throws `not_found` if the session has no run with this number. */
export function showRun(store: SessionStore, number: number): Omit<FoundRun, 'isRepeated'> {
	const run = store.runs.get(number || undefined);
	if (run === undefined) throw new RunletError('not_found', 'There is no such run in this session.');
	const { n, id, status, firstSeq: first, endedAt, origin } = run;
	const next = store.runs.get(n + 1)?.firstSeq;
	// A run that only brings results begins in the turn of their calls.
	const last = next === undefined || store.messages.get(next)?.run === n ? next : next - messageStride;
	const { agent, user } = store.session();
	const about = { id, agent, user, isRunning: status === 'running', isNewest: next === undefined };
	return {
		...about,
		first,
		last: last ?? store.messages.lastTurn(),
		endedAt,
		kept: origin?.kept,
		chain: findChain(store, run),
	};
}

function findChain({ runs }: SessionStore, run: RunRecord): RunChain {
	const isWaiting = (one: RunRecord | undefined) => one?.end?.event.type === 'awaiting';
	let first = run.n;
	while (isWaiting(runs.get(first - 1))) first--;
	let last = run;
	while (isWaiting(last)) {
		const next = runs.get(last.n + 1);
		if (next === undefined) break;
		last = next;
	}
	const { n, status, endedAt, createdAt } = last;
	return { first, last: n, status, since: endedAt ?? createdAt };
}

function showStatus(run: RunRecord | undefined, { isOperator }: Pick<Reader, 'isOperator'>): FoundRequest['newest'] {
	if (run === undefined) return undefined;
	const { id, status, end } = run;
	const error = end?.event.type === 'error' ? toShown(end.event, { isOperator, id }) : undefined;
	return { id, status, error };
}

export async function showTasks(
	{ state }: SessionStore,
	{ workspace }: Pick<SessionFiles, 'workspace'>,
): Promise<Shown<typeof taskLists>> {
	return { lists: await readTaskLists({ state: createRunState(state), workspace }) };
}

export function showWaiting({ queue }: SessionStore): Shown<typeof waitingMessages> {
	const waiting = queue.all().map(({ runId, message, inbound, steers }) => {
		const parts = 'parts' in message ? message.parts : undefined;
		const attachments = showAttachments(inbound);
		const about = { attachments, from: findSource(inbound), ...(steers && { steers: true as const }) };
		return { id: runId, content: messageText(message), parts, ...about };
	});
	return { waiting };
}

/** Shows a message with its whole tool result. Throws `not_found` if there is no message at this place. */
export function showWholeMessage(store: SessionStore, seq: number, words: ToolWords): Shown<typeof shownMessage> {
	const record = store.messages.get(seq);
	if (record === undefined) throw new RunletError('not_found', 'There is no such message in this session.');
	return showRated(store, store.messages.whole(record), store.runs.get(record.run), words);
}

/** Shows a message with its labels and the feedback about its run. */
function showRated(store: SessionStore, record: MessageRecord, run: RunRecord | undefined, words: ToolWords) {
	const feedback = run && showFeedback(store.findFeedback(run, record.seq));
	const shown = showLabels(showMessage(record, run?.id), record, words);
	return { ...shown, ...showVersion(store, record), ...(feedback && { feedback }) };
}

function showVersion({ messages }: SessionStore, { replaces }: MessageRecord) {
	if (replaces === undefined) return undefined;
	let version = 1;
	for (let at: number | undefined = replaces; at !== undefined; at = messages.get(at)?.replaces) version++;
	return { replaces: String(replaces), version };
}

function showLabels(
	shown: Shown<typeof shownMessage>,
	record: MessageRecord,
	words: ToolWords,
): Shown<typeof shownMessage> {
	if (shown.role === 'user') {
		const { outside, private: own } = readLabels({ ...record, id: shown.id }, words);
		const labels = [
			...(outside.length > 0 ? ['outside' as const] : []),
			...(own.length > 0 ? ['private' as const] : []),
		];
		const { messageId } = record.inbound ?? {};
		return { ...shown, messageId, from: findSource(record.inbound), labels: toGiven(labels) };
	}
	if (shown.role !== 'assistant' || shown.toolCalls === undefined) return shown;
	const toolCalls = shown.toolCalls.map((call) => ({ ...call, labels: toGiven(listCallLabels(call.name, words)) }));
	return { ...shown, toolCalls };
}

/** Returns what sent a message that no person wrote. */
function findSource(inbound: Inbound | undefined): 'agent' | 'schedule' | undefined {
	const transport = inbound?.transport;
	return transport === 'agent' || transport === 'schedule' ? transport : undefined;
}

function toGiven(labels: readonly Label[]): Label[] | undefined {
	return labels.length > 0 ? [...labels] : undefined;
}

/** The number of runs that a list of sessions shows of each. */
const mostRuns = 10;

/** Shows the newest runs of a session, the newest first. */
export function showRuns({ runs, spending, messages }: SessionStore): Shown<typeof listedRun>[] {
	const shown: Shown<typeof listedRun>[] = [];
	const newest = [...runs.newestFirst(Math.max(0, (runs.get()?.n ?? 0) - mostRuns))];
	const unpricedTokens = messages.unpricedTokens(newest.at(-1)?.firstSeq ?? 0);
	let later = nothing;
	for (const { n, id, status, model, createdAt, endedAt, end } of newest) {
		const since = spending.getRun(n);
		shown.push({
			id,
			status,
			model,
			createdAt: new Date(createdAt).toISOString(),
			endedAt: endedAt === undefined ? undefined : new Date(endedAt).toISOString(),
			error: end?.event.type === 'error' ? end.event.code : undefined,
			spent: minus(since, later),
			unpricedTokens: unpricedTokens.get(n),
		});
		later = since;
	}
	return shown;
}

export function showFeedback(stored: Feedback | undefined): Shown<typeof feedback> | undefined {
	if (stored === undefined) return undefined;
	const { at, ...rating } = stored;
	return { ...rating, createdAt: new Date(at).toISOString() };
}

export function showMessage(record: MessageRecord, runId: string | undefined): Shown<typeof shownMessage> {
	const { seq, message, input, inbound, turn, isCut, isReplaced, createdAt } = record;
	const { providerMetadata: _, ...shown } = { providerMetadata: undefined, ...message };
	const attachments = showAttachments(inbound);
	const about = {
		...(attachments && { attachments }),
		...(turn && { turn }),
		...(isCut === true && { isCut }),
		...(input === true && { isInput: true }),
		...(isReplaced === true && { isReplaced }),
	};
	return { id: String(seq), runId, ...shown, ...about, createdAt: new Date(createdAt).toISOString() };
}

function showAttachments(inbound: Inbound | undefined) {
	return inbound?.attachments?.map(({ name, type, size }) => ({ name, type, size }));
}
