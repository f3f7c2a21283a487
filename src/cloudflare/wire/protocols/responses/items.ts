import { createFieldError } from '../../../../core/base/errors.ts';
import { toInputText } from '../../../../core/tool/call.ts';
import type { shownMessage } from '../../message.ts';
import type { Shown } from '../../operation.ts';
import { formatCallId } from './ids.ts';

type StoredMessage = Shown<typeof shownMessage>;

type Item = { readonly id: string; readonly type: string } & Readonly<Record<string, unknown>>;

/** Shows a stored message of a session as items. Their ids name its place in the history. */
export function toItems(message: StoredMessage, session: string): Item[] {
	const status = 'completed';
	const toId = (prefix: string, index = 0) => `${prefix}_${message.id}_${index}`;
	switch (message.role) {
		case 'system': {
			const content = [{ type: 'input_text', text: message.content }];
			return [{ id: toId('msg'), type: 'message', status, role: 'developer', content }];
		}
		case 'user': {
			const { content: text, parts = [{ kind: 'text' as const, text }] } = message;
			return [{ id: toId('msg'), type: 'message', status, role: 'user', content: parts.map(toInputPart) }];
		}
		case 'tool': {
			const { content } = message;
			const call_id = formatCallId('call', session, message.toolCallId);
			const output = typeof content === 'string' ? content : JSON.stringify(content ?? null);
			return [{ id: toId('fco'), type: 'function_call_output', call_id, output, status }];
		}
		case 'assistant': {
			const { content: text, reasoning, toolCalls = [] } = message;
			const summary = [{ type: 'summary_text', text: reasoning }];
			const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
			return [
				...(reasoning === undefined ? [] : [{ id: toId('rs'), type: 'reasoning', summary }]),
				...(text === '' ? [] : [{ id: toId('msg'), type: 'message', status, role: 'assistant', content }]),
				...toolCalls.map(({ id: callId, name, input }, index) => {
					const id = toId('fc', index);
					const call_id = formatCallId('call', session, callId);
					return { id, type: 'function_call', call_id, name, arguments: toInputText(input), status };
				}),
			];
		}
	}
}

type Part = NonNullable<Extract<StoredMessage, { role: 'user' }>['parts']>[number];

function toInputPart({ kind, text, mime, data, url, name }: Part) {
	const address = url ?? `data:${mime ?? 'application/octet-stream'};base64,${data ?? ''}`;
	if (kind === 'image') return { type: 'input_image', image_url: address, detail: 'auto' };
	if (kind === 'text' || kind === 'tool-result') return { type: 'input_text', text: text ?? '' };
	const where = url === undefined ? { file_data: address } : { file_url: url };
	return { type: 'input_file', ...where, ...(name !== undefined && { filename: name }) };
}

interface PageOptions {
	readonly limit: number;
	readonly order: 'asc' | 'desc';
	readonly after?: string;
}

/** Makes a page of items. `items` are the oldest first. Throws `invalid_request` for an `after` that no item has. */
export function toItemPage(items: readonly Item[], { limit, order, after }: PageOptions) {
	const sorted = order === 'asc' ? items : items.toReversed();
	const from = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
	if (after !== undefined && from === 0)
		throw createFieldError('invalid_request', 'after', 'no item here has this id.');
	const data = sorted.slice(from, from + limit);
	return {
		object: 'list' as const,
		data,
		first_id: data[0]?.id ?? null,
		last_id: data.at(-1)?.id ?? null,
		has_more: from + limit < sorted.length,
	};
}
