import { close } from '../../../core/chat/sse.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { readTaskLists } from '../../../core/tool/task-store.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { BudgetState } from '../../objects/budget.ts';
import type { PageQuery, SessionState } from '../../objects/session-api.ts';
import type { exportedSession } from '../../wire/export.ts';
import type { shownMessage } from '../../wire/message.ts';
import type { Shown } from '../../wire/shown.ts';
import type { taskLists } from '../../wire/tasks.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { findPending } from '../store/calls.ts';
import type { Inbound } from '../store/inbound.ts';
import type { MessageRecord } from '../store/messages.ts';
import type { RunRecord } from '../store/runs.ts';
import { createRunState } from '../store/state.ts';
import type { SessionStore } from '../store/store.ts';

/** Characters of messages in one page of the history, about. */
const pageBytes = 4_000_000;

/** Where a session stands, what it waits for, and its budget. `defaultModel` is that of agents that name none. */
export function showSession(
	store: SessionStore,
	budget: BudgetState,
	{ agents }: Pick<Runtime, 'agents'>,
	defaultModel: () => string,
): SessionState {
	const { id, agent, model, metadata, createdAt } = store.session();
	const run = store.runs.get();
	const last = run?.end?.event;
	const { question, calls } = findPending(store);
	const waiting = store.queue.size;
	return {
		id,
		agent,
		model: model ?? agents.find(({ name }) => name === agent)?.model ?? defaultModel(),
		status: store.status,
		createdAt: new Date(createdAt).toISOString(),
		metadata,
		run: run && { id: run.id, status: run.status },
		error: last?.type === 'error' ? { code: last.code, message: last.message } : undefined,
		question,
		toolCalls: calls,
		waiting: waiting > 0 ? waiting : undefined,
		budget,
	};
}

/** A page of the history. `cursor` is where the next page begins. */
export function showMessages(store: SessionStore, { cursor, limit = 100 }: PageQuery) {
	const { records, next } = store.messages.page({ from: cursor ?? 0, limit, bytes: pageBytes });
	const runIds = new Map<number, string | undefined>();
	const messages = records.map((record) => {
		if (!runIds.has(record.run)) runIds.set(record.run, store.runs.get(record.run)?.id);
		return showMessage(record, runIds.get(record.run));
	});
	return { messages, cursor: next === undefined ? undefined : String(next) };
}

/** The task lists as they stand. */
export async function showTasks(
	{ state }: SessionStore,
	{ workspace }: Pick<SessionFiles, 'workspace'>,
): Promise<Shown<typeof taskLists>> {
	return { lists: await readTaskLists({ state: createRunState(state), workspace }) };
}

/** A message with the whole result of its tool. Throws `not_found` if there is none at this place. */
export function showWholeMessage(store: SessionStore, seq: number): Shown<typeof shownMessage> {
	const record = store.messages.get(seq);
	if (record === undefined) throw new RunletError('not_found', 'There is no such message in this session.');
	return showMessage(store.messages.whole(record), store.runs.get(record.run)?.id);
}

/** A message as the routes show it: without what only its provider needs. */
function showMessage(record: MessageRecord, runId: string | undefined): Shown<typeof shownMessage> {
	const { seq, message, input, inbound, turn, isCut, isReplaced, createdAt } = record;
	const { providerMetadata: _, ...shown } = { providerMetadata: undefined, ...message };
	const attachments = inbound?.attachments?.map(({ name, type, size }) => ({ name, type, size }));
	const about = {
		...(attachments && { attachments }),
		...(turn && { turn }),
		...(isCut === true && { isCut }),
		...(input === true && { isInput: true }),
		...(isReplaced === true && { isReplaced }),
	};
	return { id: String(seq), runId, ...shown, ...about, createdAt: new Date(createdAt).toISOString() };
}

type Exported = Shown<typeof exportedSession>;

/** One record of an export, under the name of what it is. */
type Entry = {
	[K in keyof Exported]: readonly [kind: K, value: Exported[K] extends readonly (infer T)[] ? T : Exported[K]];
}[keyof Exported];

/** How an export is written: one JSON document, or a line of JSON a record. */
export type ExportForm = 'json' | 'ndjson';

/** Rows that are read at a time. */
const atOnce = 200;

/** Characters that are written at a time, about. */
const pieceLength = 65_536;

/**
 * Everything of a session as bytes, as it stands when the export begins. It is read and written a piece at a time, as its
 * reader pulls; one that cannot come to its end breaks off, so that half an export is never taken for a whole one.
 *
 * @param isThere whether the session still is.
 */
export function exportStream(
	store: SessionStore,
	about: Exported['session'],
	form: ExportForm,
	isThere: () => boolean,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	const pieces = form === 'json' ? toDocument(listEntries(store, about)) : toLines(listEntries(store, about));
	return new ReadableStream({
		type: 'bytes',
		pull: (controller) => {
			if (!isThere()) throw new Error('The session was removed.');
			let text = '';
			while (text.length < pieceLength) {
				const { done, value } = pieces.next();
				if (done) break;
				text += value;
			}
			if (text === '') close(controller);
			else controller.enqueue(encoder.encode(text));
		},
	});
}

function* listEntries(store: SessionStore, about: Exported['session']): Generator<Entry> {
	const end = store.messages.nextPlace();
	const lastRun = store.runs.get()?.n ?? 0;
	const ids = new Map<number, string>();
	yield ['session', about];
	for (let run = store.runs.after(0); run !== undefined && run.n <= lastRun; run = store.runs.after(run.n)) {
		ids.set(run.n, run.id);
		yield ['runs', toRun(run)];
	}
	for (let call = 0; ; ) {
		const charges = store.spending.after(call, atOnce);
		for (const { run, model, amount, isSettled, createdAt } of charges)
			yield ['spending', { runId: ids.get(run), model, ...amount, isSettled, createdAt: toTime(createdAt) }];
		call = charges.at(-1)?.call ?? 0;
		if (charges.length < atOnce) break;
	}
	for (const key of store.state.list()) yield ['state', { key, value: store.state.get(key) }];
	for (let next = store.queue.after(0); next !== undefined; next = store.queue.after(next.id)) {
		const { runId, message, inbound } = next;
		const parts = message.role === 'user' ? message.parts : undefined;
		yield ['waiting', { runId, content: message.content, parts, ...toOrigin(inbound) }];
	}
	for (let from = 0; ; ) {
		const { records, next } = store.messages.page({ from, to: end, limit: atOnce, bytes: pieceLength });
		for (const record of records) yield ['messages', toMessage(store.messages.whole(record), ids.get(record.run))];
		if (next === undefined) break;
		from = next;
	}
}

function toRun({ id, status, model, attempt, createdAt, endedAt, end }: RunRecord): Exported['runs'][number] {
	const partialText = (end?.draft ?? []).flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
	const event = end?.event;
	return {
		id,
		status,
		model,
		lives: attempt,
		createdAt: toTime(createdAt),
		...(endedAt !== undefined && { endedAt: toTime(endedAt) }),
		...(event?.type === 'error' && { error: { code: event.code, message: event.message } }),
		...(event?.type === 'halted' && { reason: event.reason }),
		...(partialText !== '' && { partialText }),
	};
}

function toMessage(record: MessageRecord, runId: string | undefined): Exported['messages'][number] {
	return { ...showMessage(record, runId), ...toOrigin(record.inbound) };
}

function toOrigin(inbound: Inbound | undefined) {
	return inbound === undefined ? {} : { sender: inbound.sender, transport: inbound.transport };
}

function toTime(milliseconds: number): string {
	return new Date(milliseconds).toISOString();
}

/** A line a record, and a last one that says how many there were: without it the export is not whole. */
function* toLines(entries: Iterable<Entry>): Generator<string> {
	const counts = { runs: 0, spending: 0, state: 0, waiting: 0, messages: 0 };
	for (const [kind, value] of entries) {
		if (kind !== 'session') counts[kind]++;
		yield `${JSON.stringify({ [names[kind]]: value })}\n`;
	}
	yield `${JSON.stringify({ end: counts })}\n`;
}

const names = {
	session: 'session',
	runs: 'run',
	spending: 'spending',
	state: 'state',
	waiting: 'waiting',
	messages: 'message',
} as const satisfies Record<keyof Exported, string>;

/** The lists of the document, in the order in which their records come. */
const lists = ['runs', 'spending', 'state', 'waiting', 'messages'] as const;

function* toDocument(entries: Iterable<Entry>): Generator<string> {
	/** The lists that were begun. */
	let begun = 0;
	let isFirst = true;
	yield '{';
	for (const [kind, value] of entries) {
		if (kind === 'session') {
			yield `"session":${JSON.stringify(value)}`;
			continue;
		}
		for (; lists[begun - 1] !== kind; begun++) {
			yield `${begun === 0 ? '' : ']'},"${lists[begun]}":[`;
			isFirst = true;
		}
		yield `${isFirst ? '' : ','}${JSON.stringify(value)}`;
		isFirst = false;
	}
	for (; begun < lists.length; begun++) yield `${begun === 0 ? '' : ']'},"${lists[begun]}":[`;
	yield ']}\n';
}
