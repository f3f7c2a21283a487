import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { LineSplitter } from '../../../core/base/text.ts';
import type { Message } from '../../../core/chat/index.ts';
import { hasRight, toActors } from '../../auth/rights.ts';
import { isWithinLimit, type Limit } from '../../objects/budget.ts';
import type { Bytes } from '../../objects/reach.ts';
import type { ImportOwner } from '../../objects/session-api.ts';
import { type ImportedMessage, type ImportedRun, maxLine } from '../../wire/import.ts';
import type { Inbound } from '../store/inbound.ts';
import type { RecalledSources, RunEnd } from '../store/runs.ts';

/** Returns the origin of an imported message. The person who made the copy becomes an asker. */
export function toInbound(
	imported: NonNullable<ImportedMessage['stored']>['inbound'],
	{ owner, user = owner, by, isFork = false }: ImportOwner,
): Inbound {
	const { attachments, messageId } = imported ?? {};
	const about = { ...(attachments && { attachments }), ...(messageId !== undefined && { messageId }) };
	if (!isFork) return { ...about, sender: user, transport: 'import', ...(by && { by }) };
	const { sender = user, transport = 'http' } = imported ?? {};
	const before = imported?.askers ?? (imported?.by === undefined ? [] : [imported.by]);
	const askers = [...toActors(before), ...(by === undefined ? [] : [by])];
	return { ...about, sender, transport, ...(by && { by }), ...(askers.length > 0 && { askers }) };
}

/** Whether a copy may have a budget: at most the usual budget, or any budget if the importer may raise budgets. */
export function mayHaveBudget(role: ImportOwner['role'], budget: Limit | undefined, usual: Limit): boolean {
	if (budget === undefined || role === undefined || hasRight(role, 'setBudget')) return true;
	return isWithinLimit(budget, usual);
}

export function toRunEnd(end: ImportedRun['stored']['end'], isOver: boolean): RunEnd {
	const { before = [], draft = [], restarts, steps = 0, event, isOutputText } = end ?? {};
	const about = { before, draft, restarts, steps };
	if (!isOver || event === undefined) return { ...about, event: { type: 'cancelled' } };
	return { ...about, event: { ...event, ...(isOutputText && { isOutputText }) } };
}

/** A copy keeps what flowed into it with memories, but not which memories these were. */
export function toRecalled(labels: NonNullable<ImportedRun['stored']['recalled']>): RecalledSources {
	return { sources: [], ...(labels.includes('outside') && { outside: true }) };
}

export function toMessage(
	imported: ImportedMessage,
	providerMetadata: Readonly<Record<string, unknown>> | undefined,
): Message {
	switch (imported.role) {
		case 'system': {
			const { role, content, summary, skills } = imported;
			return { role, content, summary, skills };
		}
		case 'user': {
			const { role, content, parts } = imported;
			return { role, content, ...(parts && { parts }) };
		}
		case 'assistant': {
			const { role, content, parts, toolCalls, reasoning, providerCalls, sources } = imported;
			return { role, content, parts, toolCalls, reasoning, providerCalls, sources, providerMetadata };
		}
		case 'tool': {
			const { role, content, toolCallId, isError, ranWith, parts } = imported;
			return { role, content: content ?? null, toolCallId, isError, ranWith, parts };
		}
		default:
			return imported satisfies never;
	}
}

/** Yields the lines of a body. Throws `invalid_request` for an interrupted body. */
export async function* readLines(bytes: Bytes): AsyncGenerator<string, void> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
	const splitter = new LineSplitter();
	try {
		for (;;) {
			const { done, value } = await read(reader, decoder);
			if (done) break;
			yield* splitter.push(value);
			if (splitter.length > maxLine)
				throw createFieldError('too_large', 'body', `a line has more than ${maxLine} characters.`);
		}
		const last = splitter.end();
		if (last !== '') yield last;
	} finally {
		reader.cancel().catch(() => {});
	}
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, decoder: TextDecoder) {
	try {
		const { done, value } = await reader.read();
		return { done, value: done ? '' : decoder.decode(value, { stream: true }) };
	} catch (cause) {
		const message = 'body: ended before it was whole, or is not UTF-8. Send it again.';
		throw new RunletError('invalid_request', message, { field: 'body' }, { cause });
	}
}
