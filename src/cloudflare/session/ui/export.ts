import { toBase64 } from '../../../core/base/bytes.ts';
import { createFieldError } from '../../../core/base/errors.ts';
import { dropUndefined } from '../../../core/base/json.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import {
	type ExportCursor,
	exportedLists,
	type exportedSession,
	formatCursor,
	parseCursor,
	recordNames,
} from '../../wire/export.ts';
import type { Shown } from '../../wire/operation.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { pieceLength, toPieceStream } from '../inbox/pieces.ts';
import type { Authorization } from '../inbox/transaction.ts';
import type { Inbound } from '../store/inbound.ts';
import { type MessagePage, type MessageRecord, messageStride, toTurnPlace } from '../store/messages.ts';
import type { RunEnd, RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { showFeedback, showMessage } from './show.ts';

type Exported = Shown<typeof exportedSession>;

type ListName = (typeof exportedLists)[number];

/** A record of a list, with its place in the list. */
type Listed<K extends ListName> = readonly [record: Exported[K][number], place: number | string];

type Entry = readonly [kind: 'session', record: Exported['session']] | readonly [kind: ListName, ...Listed<ListName>];

export type ExportForm = 'json' | 'ndjson';

const atOnce = 200;

const fileBytes = 262_144;
/** The characters of the lines between two cursors. */
const cursorLength = 1_048_576;

interface ExportOptions {
	readonly store: SessionStore;
	readonly files: Pick<SessionFiles, 'findPlace' | 'readPieces'>;
	readonly about: Exported['session'];
	readonly form: ExportForm;
	/** The place of the last message, whose turn is exported whole. The default is the end. */
	readonly at?: number;
	/** Where the lines go on, or `start` for all lines. With a cursor, there are cursors among the lines. */
	readonly cursor?: string;
	readonly authorization: Pick<Authorization, 'isThere'>;
}

/**
 * Exports a session, as it is when the export begins, piece by piece. The stream fails if the session is removed during
 * the export, so that nobody mistakes a part for the whole export.
 */
export function exportStream(options: ExportOptions): ReadableStream<Uint8Array> {
	const position = options.cursor === undefined || options.cursor === 'start' ? undefined : parseCursor(options.cursor);
	// A cursor in a file that was replaced is refused before the answer begins.
	if (position?.list === 'files') options.files.findPlace(String(position.place));
	const begun = position ?? { end: findEnd(options), lastRun: options.store.runs.get()?.n ?? 0 };
	const entries = listEntries(options, begun);
	const pieces = options.form === 'json' ? toDocument(entries) : toLines(entries, begun, options.cursor !== undefined);
	return toPieceStream(pieces, options.authorization);
}

/** Returns the place after the last message of an export. Throws `invalid_request` for an unknown message. */
function findEnd({ store, at }: ExportOptions): number {
	if (at === undefined) return store.messages.nextPlace();
	if (store.messages.get(at) !== undefined) return toTurnPlace(at) + messageStride;
	const what = 'no such message. Give the id of one that GET /v1/sessions/:id/messages shows.';
	throw createFieldError('invalid_request', 'at', what);
}

/** Returns whether a message was replaced before the end of an export, which is as the session was then. */
function createReplacedCheck({ messages }: SessionStore, end: number): (record: MessageRecord) => boolean {
	let edits: readonly MessageRecord[] | undefined;
	const findEdits = () => {
		const found: MessageRecord[] = [];
		for (let from: number | undefined = 0; from !== undefined; ) {
			const { records, next }: MessagePage = messages.page({ from, to: end, limit: atOnce, bytes: pieceLength });
			found.push(...records.filter(({ replaces }) => replaces !== undefined));
			from = next;
		}
		return found;
	};
	return ({ seq, run, isReplaced }) => {
		if (isReplaced !== true) return false;
		edits ??= findEdits();
		return edits.some((edit) => run < edit.run && seq >= toTurnPlace(edit.replaces ?? edit.seq));
	};
}

/** Where an export is: what it exports, and the last record that came. Without `list` it is at its beginning. */
type Position = Pick<ExportCursor, 'end' | 'lastRun'> & Partial<ExportCursor>;

async function* listEntries(options: ExportOptions, begun: Position): AsyncGenerator<Entry> {
	if (begun.list === undefined) yield ['session', options.about];
	const first = begun.list === undefined ? 0 : exportedLists.indexOf(begun.list);
	const lists = listRecords(options, begun);
	for (const list of exportedLists.slice(first))
		for await (const listed of lists[list](list === begun.list ? begun.place : undefined)) yield [list, ...listed];
}

type Place = number | string | undefined;

type Lists = {
	readonly [K in ListName]: (after: Place) => Iterable<Listed<K>> | AsyncIterable<Listed<K>>;
};

/** Lists the records of each list behind a place. */
function listRecords({ store, files }: ExportOptions, { end, lastRun }: Position): Lists {
	const cutRun = store.messages.page({ from: end, limit: 1 }).records[0]?.run;
	const isReplaced = createReplacedCheck(store, end);
	/** A message that was replaced only after the end of the export is in the conversation there. */
	const toCurrent = (record: MessageRecord): MessageRecord =>
		cutRun === undefined || record.isReplaced !== true || isReplaced(record)
			? record
			: { ...record, isReplaced: undefined, isRestated: undefined };
	let known: RunRecord | undefined;
	/** The id of a run, if the run is in the export. */
	const findRunId = (n: number): string | undefined => {
		if (n === 0 || n > lastRun) return undefined;
		if (known?.n !== n) known = store.runs.get(n);
		return known === undefined || known.firstSeq >= end ? undefined : known.id;
	};
	return {
		*runs(after) {
			for (
				let run = store.runs.after(toNumber(after));
				run !== undefined && run.n <= lastRun;
				run = store.runs.after(run.n)
			)
				if (run.firstSeq < end)
					yield [toRun(run.n === cutRun ? { ...run, status: 'running', end: undefined } : run), run.n];
		},
		*spending(after) {
			for (let last = toNumber(after); ; ) {
				const charges = store.spending.after(last, atOnce);
				for (const { call, run, model, amount, isSettled, createdAt } of charges)
					yield [{ runId: findRunId(run), model, ...amount, isSettled, createdAt: toTime(createdAt) }, call];
				last = charges.at(-1)?.call ?? 0;
				if (charges.length < atOnce) break;
			}
		},
		*state(after) {
			for (const key of behind(store.state.list(), after)) yield [{ key, value: store.state.get(key) }, key];
		},
		*notes(after) {
			for (const key of behind(store.workspace.listNotes(), after))
				yield [{ key, value: store.workspace.readNote(key) }, key];
		},
		*waiting(after) {
			for (let next = store.queue.after(toNumber(after)); next !== undefined; next = store.queue.after(next.id)) {
				const { id, runId, message, inbound } = next;
				const parts = message.role === 'user' ? message.parts : undefined;
				yield [{ runId, content: message.content, parts, ...toOrigin(inbound) }, id];
			}
		},
		async *files(after) {
			for await (const { piece, bytes, place } of files.readPieces(fileBytes, after?.toString()))
				yield [{ ...piece, base64: toBase64(bytes) }, place];
		},
		*messages(after) {
			for (let from: number | undefined = after === undefined ? 0 : toNumber(after) + 1; from !== undefined; ) {
				const { records, next } = store.messages.page({ from, to: end, limit: atOnce, bytes: pieceLength });
				for (const record of records)
					yield [toMessage(toCurrent(store.messages.whole(record)), findRunId(record.run)), record.seq];
				from = next;
			}
		},
	};
}

function toNumber(after: Place): number {
	return typeof after === 'number' ? after : 0;
}

function behind(keys: readonly string[], after: Place): readonly string[] {
	if (typeof after !== 'string') return keys;
	const at = keys.indexOf(after);
	// The key may be gone by now.
	return at === -1 ? keys.filter((key) => key > after) : keys.slice(at + 1);
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

/**
 * Yields a line for each record, and a last line with their counts. Without the last line an export is incomplete. A
 * cursor stands behind each file of several pieces, too, because an import goes on behind a whole file.
 */
async function* toLines(
	entries: AsyncIterable<Entry>,
	{ end, lastRun, ...begun }: Position,
	hasCursors: boolean,
): AsyncGenerator<string> {
	const counts = { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0, ...begun.counts };
	let length = 0;
	for await (const [kind, value, place] of entries) {
		if (kind !== 'session') counts[kind]++;
		const line = `${JSON.stringify({ [recordNames[kind]]: value })}\n`;
		yield line;
		length += line.length;
		const endsFile = kind === 'files' && 'at' in value && value.at > 0 && String(place).startsWith(':');
		if (!hasCursors || kind === 'session' || place === undefined) continue;
		if (length < cursorLength && !endsFile) continue;
		const cursor = formatCursor({ end, lastRun, list: kind, place, counts });
		if (cursor === undefined) continue;
		yield `${JSON.stringify({ cursor })}\n`;
		length = 0;
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
