import { toBase64 } from '../../../core/base/bytes.ts';
import { createFieldError } from '../../../core/base/errors.ts';
import { dropUndefined } from '../../../core/base/json.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import { exportedLists, type exportedSession, recordNames } from '../../wire/export.ts';
import type { Shown } from '../../wire/operation.ts';
import type { SessionFiles } from '../files/session-files.ts';
import type { Authorization } from '../inbox/transaction.ts';
import type { Inbound } from '../store/inbound.ts';
import { type MessageRecord, messageStride, toTurnPlace } from '../store/messages.ts';
import type { RunEnd, RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { pieceLength, toPieceStream } from './pieces.ts';
import { showFeedback, showMessage } from './show.ts';

type Exported = Shown<typeof exportedSession>;

type Entry = {
	[K in keyof Exported]: readonly [kind: K, value: Exported[K] extends readonly (infer T)[] ? T : Exported[K]];
}[keyof Exported];

export type ExportForm = 'json' | 'ndjson';

const atOnce = 200;

const fileBytes = 262_144;

interface ExportOptions {
	readonly store: SessionStore;
	readonly files: Pick<SessionFiles, 'readPieces'>;
	readonly about: Exported['session'];
	readonly form: ExportForm;
	/** The place of the last message, whose turn is exported whole. The default is the end. */
	readonly at?: number;
	readonly authorization: Pick<Authorization, 'isThere'>;
}

/**
 * Exports a session, as it is when the export begins, piece by piece. The stream fails if the session is removed during
 * the export, so that nobody mistakes a part for the whole export.
 */
export function exportStream(options: ExportOptions): ReadableStream<Uint8Array> {
	const entries = listEntries(options, findEnd(options));
	const pieces = options.form === 'json' ? toDocument(entries) : toLines(entries);
	return toPieceStream(pieces, options.authorization);
}

/** Returns the place after the last message of an export. Throws `invalid_request` for an unknown message. */
function findEnd({ store, at }: ExportOptions): number {
	if (at === undefined) return store.messages.nextPlace();
	const last = store.messages.get(at);
	if (last !== undefined && last.isReplaced !== true) return toTurnPlace(at) + messageStride;
	const why = last === undefined ? 'no such message' : 'this message was replaced';
	const what = `${why}. Give the id of one that GET /v1/sessions/:id/messages shows.`;
	throw createFieldError('invalid_request', 'at', what);
}

async function* listEntries({ store, files, about }: ExportOptions, end: number): AsyncGenerator<Entry> {
	const lastRun = store.runs.get()?.n ?? 0;
	const cutRun = store.messages.page({ from: end, limit: 1 }).records[0]?.run;
	const ids = new Map<number, string>();
	yield ['session', about];
	for (let run = store.runs.after(0); run !== undefined && run.n <= lastRun; run = store.runs.after(run.n)) {
		if (run.firstSeq >= end) continue;
		ids.set(run.n, run.id);
		yield ['runs', toRun(run.n === cutRun ? { ...run, status: 'running', end: undefined } : run)];
	}
	for (let call = 0; ; ) {
		const charges = store.spending.after(call, atOnce);
		for (const { run, model, amount, isSettled, createdAt } of charges)
			yield ['spending', { runId: ids.get(run), model, ...amount, isSettled, createdAt: toTime(createdAt) }];
		call = charges.at(-1)?.call ?? 0;
		if (charges.length < atOnce) break;
	}
	for (const key of store.state.list()) yield ['state', { key, value: store.state.get(key) }];
	for (const note of store.workspace.listNotes()) yield ['notes', note];
	for (let next = store.queue.after(0); next !== undefined; next = store.queue.after(next.id)) {
		const { runId, message, inbound } = next;
		const parts = message.role === 'user' ? message.parts : undefined;
		yield ['waiting', { runId, content: message.content, parts, ...toOrigin(inbound) }];
	}
	for await (const { bytes, ...about } of files.readPieces(fileBytes))
		yield ['files', { ...about, base64: toBase64(bytes) }];
	for (let from = 0; ; ) {
		const { records, next } = store.messages.page({ from, to: end, limit: atOnce, bytes: pieceLength });
		for (const record of records) yield ['messages', toMessage(store.messages.whole(record), ids.get(record.run))];
		if (next === undefined) break;
		from = next;
	}
}

function toRun(run: RunRecord): Exported['runs'][number] {
	const { id, status, model, attempt, createdAt, endedAt, end, firstSeq } = run;
	const { stopAfter, maxOutputTokens, toolChoice, recalled } = run;
	const terms = dropUndefined({ ...run.terms, stopAfter, maxOutputTokens, toolChoice });
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
		...(end?.feedback && { feedback: showFeedback(end.feedback) }),
		...(partialText !== '' && { partialText }),
		stored: {
			firstMessage: String(firstSeq),
			...(end !== undefined && { end: toStoredEnd(end) }),
			...(Object.keys(terms).length > 0 && { terms }),
			...(recalled && { recalled: ['private' as const, ...(recalled.outside ? ['outside' as const] : [])] }),
		},
	};
}

function toStoredEnd({ event: { isOutputText, ...event }, draft, feedback: _, ...end }: RunEnd) {
	return { ...end, draft: draft.flatMap(toDeltas), event, ...(isOutputText && { isOutputText }) };
}

/** Returns a list with the event, or an empty list if a draft cannot have the event. */
function toDeltas(event: RunEvent) {
	switch (event.type) {
		case 'text':
		case 'reasoning':
		case 'tool_use_start':
		case 'tool_use_input':
		case 'tool_use_end':
		case 'provider_tool':
		case 'source':
			return [event];
		default:
			return [];
	}
}

function toMessage(record: MessageRecord, runId: string | undefined): Exported['messages'][number] {
	const { message, inbound, before, restarts, haltedReason, replaces, isRestated } = record;
	const { decidedBy, isDenied, isCutOff, prompt, setup, changes } = record;
	const providerMetadata = message.role === 'assistant' ? message.providerMetadata : undefined;
	const origin = { inbound, providerMetadata, decidedBy, isDenied };
	const stored = {
		...origin,
		isCutOff,
		prompt,
		setup,
		changes,
		before,
		restarts,
		haltedReason,
		replaces,
		isRestated,
	};
	const hasAny = Object.values(stored).some((value) => value !== undefined);
	return { ...showMessage(record, runId), ...toOrigin(inbound), ...(hasAny && { stored }) };
}

function toOrigin(inbound: Inbound | undefined) {
	return inbound === undefined ? {} : { sender: inbound.sender, transport: inbound.transport };
}

function toTime(milliseconds: number): string {
	return new Date(milliseconds).toISOString();
}

/** Yields a line for each record, and a last line with their counts. Without the last line an export is incomplete. */
async function* toLines(entries: AsyncIterable<Entry>): AsyncGenerator<string> {
	const counts = { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0 };
	for await (const [kind, value] of entries) {
		if (kind !== 'session') counts[kind]++;
		yield `${JSON.stringify({ [recordNames[kind]]: value })}\n`;
	}
	yield `${JSON.stringify({ end: counts })}\n`;
}

async function* toDocument(entries: AsyncIterable<Entry>): AsyncGenerator<string> {
	let begun = 0;
	let isFirst = true;
	yield '{';
	for await (const [kind, value] of entries) {
		if (kind === 'session') {
			yield `"session":${JSON.stringify(value)}`;
			continue;
		}
		for (; exportedLists[begun - 1] !== kind; begun++) {
			yield `${begun === 0 ? '' : ']'},"${exportedLists[begun]}":[`;
			isFirst = true;
		}
		yield `${isFirst ? '' : ','}${JSON.stringify(value)}`;
		isFirst = false;
	}
	for (; begun < exportedLists.length; begun++) yield `${begun === 0 ? '' : ']'},"${exportedLists[begun]}":[`;
	yield ']}\n';
}
