import { createFieldError } from '../../../core/base/errors.ts';
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
	{ owner, user = owner, by, original }: ImportOwner,
): Inbound {
	const { attachments, messageId } = imported ?? {};
	const about = { ...(attachments && { attachments }), ...(messageId !== undefined && { messageId }) };
	if (original === undefined) return { ...about, sender: user, transport: 'import', ...(by && { by }) };
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

export interface Line {
	readonly text: string;
	/** The bytes of the line, with its end. */
	readonly bytes: number;
}

const newline = 10;

/**
 * Yields the lines of a body. Returns false if the body was interrupted. Throws `invalid_request` for a line that is not
 * UTF-8, and `too_large` for a line that is too long.
 *
 * @param isWhole whether the last line may have no end. If not, a line without an end is left out.
 */
export async function* readLines(body: Bytes, isWhole: boolean): AsyncGenerator<Line, boolean> {
	const reader = body.getReader();
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
	let begun: string[] = [];
	let [length, bytes] = [0, 0];
	const add = (piece: Uint8Array, stream: boolean): void => {
		const text = decode(decoder, piece, stream);
		begun.push(text);
		bytes += piece.length;
		length += text.length;
		if (length > maxLine) throw createFieldError('too_large', 'body', `a line has more than ${maxLine} characters.`);
	};
	const end = (rest: Uint8Array, lineEnd: number): Line => {
		add(rest, false);
		const line = { text: begun.join(''), bytes: bytes + lineEnd };
		[begun, length, bytes] = [[], 0, 0];
		return line;
	};
	try {
		for (;;) {
			const { done, value } = await reader.read().catch(() => interrupted);
			if (value === undefined) {
				if (done && isWhole && bytes > 0) yield end(new Uint8Array(), 0);
				return done;
			}
			let from = 0;
			for (let at = value.indexOf(newline); at !== -1; at = value.indexOf(newline, from)) {
				yield end(value.subarray(from, at), 1);
				from = at + 1;
			}
			if (from < value.length) add(value.subarray(from), true);
		}
	} finally {
		reader.cancel().catch(() => {});
	}
}

const interrupted = { done: false, value: undefined } as const;

function decode(decoder: TextDecoder, bytes: Uint8Array, stream: boolean): string {
	try {
		return decoder.decode(bytes, { stream });
	} catch {
		throw createFieldError('invalid_request', 'body', 'not valid UTF-8.');
	}
}
