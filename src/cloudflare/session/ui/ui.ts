import { joinBytes, toBase64 } from '../../../core/base/bytes.ts';
import type { ToolMessage } from '../../../core/chat/index.ts';
import { toUiMessage, type UiMessage, type UiPart, withAllowed } from '../../wire/protocols/ui/message.ts';
import { type EarlierRun, type ReceivedResult, type UiMessageHead, UiWriter } from '../../wire/protocols/ui/writer.ts';
import { replay } from '../events/replay.ts';
import { findAskedMessage, toListedId } from '../inbox/posted.ts';
import { findInput, isFromOutside } from '../store/askers.ts';
import { findOpenCalls, listApprovedCalls } from '../store/calls.ts';
import { readAttachments } from '../store/inbound.ts';
import { type MessageRecord, messageStride } from '../store/messages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';

const shownCharacters = 4_000_000;

/** Creates the head of the message that a run writes. All runs that answer a message write the same UI message. */
export function findHead(store: SessionStore, n: number, isContinued: boolean): UiMessageHead {
	const { input, runs } = findAskedMessage(store, n);
	const earlier = listEarlierRuns(store, runs);
	return {
		messageId: answerId(input?.seq ?? 0),
		sessionId: store.session().id,
		earlier: earlier.slice(0, -1),
		given: earlier.at(-1)?.given ?? [],
		isContinued,
	};
}

/**
 * Lists the newest part of the conversation for a page, without the answer that is being written: a page gets that
 * answer as a stream. Queued messages come last. But an answer with open calls comes after them, because a page
 * answers the calls of its last message.
 */
export function uiMessages(store: SessionStore): UiMessage[] {
	const inputs = store.messages.newest({ characters: shownCharacters }).filter(isFromOutside);
	const newest = store.runs.get();
	const messages: UiMessage[] = [];
	let runs: number[] = [];
	let isSkipped = false;
	const flush = (): void => {
		const answer = findAnswer(store, runs);
		if (answer !== undefined) messages.push(answer);
		runs = [];
	};
	for (let n = inputs[0]?.run ?? 1; newest !== undefined && n <= newest.n; n++) {
		const run = store.runs.get(n);
		if (run === undefined) continue;
		const begins = findInput(store, run);
		if (begins !== undefined) flush();
		isSkipped = isGone(begins ?? store.messages.get(run.firstSeq)) || (begins === undefined && isSkipped);
		if (isSkipped) continue;
		runs.push(n);
		for (const input of inputs) {
			if (input.run === n) messages.push(toUserMessage(store.messages.whole(input), toListedId(input.seq)));
		}
	}
	const waiting = store.queue.all().map((queued) => toUserMessage(queued, queued.runId));
	if (newest?.status === 'awaiting_tools') messages.push(...waiting.splice(0));
	if (newest?.status !== 'running') flush();
	return [...messages, ...waiting];
}

/** Whether a message is hidden. A repeated message is shown only at its first place. */
function isGone(record: MessageRecord | undefined): boolean {
	return record?.isReplaced === true && record.isRestated !== true;
}

function answerId(place: number): string {
	return `msg_${place}`;
}

function findAnswer(store: SessionStore, runs: readonly number[]): UiMessage | undefined {
	const last = runs.at(-1);
	if (last === undefined) return undefined;
	const { events } = listEarlierRuns(store, [last])[0] ?? { events: [] };
	const writer = new UiWriter(findHead(store, last, false));
	const written = events.flatMap((event) => writer.write(event));
	const run = store.runs.get();
	if (run?.n !== last || run.status !== 'awaiting_tools') return toUiMessage(written);
	const message = toUiMessage([...written, ...writer.writeAnswers(findEarlyAnswers(store, run))]);
	return message && withAllowed(message, listApprovedCalls(findOpenCalls(store)));
}

/** Returns the results that arrived for the newest run's calls while other calls were open. The next run gets them. */
function findEarlyAnswers(store: SessionStore, run: RunRecord): ReceivedResult[] {
	const firstSeq = store.messages.lastTurn();
	const n = run.n + 1;
	return toGiven({ n, firstSeq }, store.findRunMessages(n, firstSeq), listAskedApprovals(run));
}

function listEarlierRuns(store: SessionStore, runs: readonly number[]): EarlierRun[] {
	let approvals: ReadonlySet<string> = new Set();
	return runs.flatMap((n) => {
		const run = store.runs.get(n);
		if (run === undefined) return [];
		const records = store.findRunMessages(n, run.firstSeq).filter((record) => !isGone(record));
		const given = toGiven(run, records, approvals);
		approvals = listAskedApprovals(run);
		return [{ given, events: run.end === undefined ? [] : replay(run, records) }];
	});
}

function listAskedApprovals({ end }: RunRecord): ReadonlySet<string> {
	const asked = end?.event.type === 'awaiting' ? (end.event.toolCalls ?? []) : [];
	return new Set(asked.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])));
}

/** Converts the answers with which a run began. The answer to a question is left out, because it is a message. */
function toGiven(
	{ n, firstSeq }: Pick<RunRecord, 'n' | 'firstSeq'>,
	records: readonly MessageRecord[],
	approvals: ReadonlySet<string>,
): ReceivedResult[] {
	const isGiven = (record: MessageRecord): record is MessageRecord & { readonly message: ToolMessage } =>
		record.run === n && record.input === true && record.message.role === 'tool' && record.inbound === undefined;
	return records
		.filter(({ seq }) => seq < firstSeq + messageStride)
		.filter(isGiven)
		.map(({ message: { toolCallId: id, content: output, isError = false } }) => ({
			id,
			output,
			isError,
			// For a call that waited for approval, only denials come from outside.
			isDenied: approvals.has(id),
		}));
}

function toUserMessage({ message, inbound }: Pick<MessageRecord, 'message' | 'inbound'>, name: string): UiMessage {
	const parts = 'parts' in message ? message.parts : undefined;
	const attached = inbound?.attachments ?? [];
	const own: UiPart[] =
		parts === undefined
			? [{ type: 'text', text: String(message.content) }]
			: parts
					.filter((_, index) => !attached.some(({ part }) => part === index))
					.map(({ kind, text = '', mime, data, url, name }) =>
						kind === 'text' ? { type: 'text', text } : filePart({ mime, name, url: url ?? dataUrl(mime, data) }),
					);
	const files = readAttachments(parts, attached).map(({ name, type, contentText, contentBase64, contentUrl }) => {
		const data = contentText === undefined ? contentBase64 : toBase64(joinBytes(contentText));
		return filePart({ mime: type, name, url: contentUrl ?? dataUrl(type, data) });
	});
	return { id: inbound?.messageId ?? name, role: 'user', parts: [...own, ...files] };
}

function filePart({
	mime = 'application/octet-stream',
	name,
	url,
}: {
	readonly mime?: string;
	readonly name?: string;
	readonly url: string;
}): UiPart {
	return { type: 'file', mediaType: mime, url, filename: name };
}

function dataUrl(mime = 'application/octet-stream', data = ''): string {
	return `data:${mime};base64,${data}`;
}
