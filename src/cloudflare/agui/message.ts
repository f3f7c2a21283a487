import { isRecord } from '../../core/base/json.ts';
import { type MessagePart, toMedia } from '../../core/base/part.ts';

/** A message of AG-UI 1.0. */
export interface AguiMessage {
	readonly role: string;
	readonly [field: string]: unknown;
}

/** Lists the calls of a message. */
export function listCalls(message: AguiMessage | undefined): { readonly id: string; readonly name: unknown }[] {
	if (!Array.isArray(message?.toolCalls)) return [];
	return message.toolCalls.flatMap((call) =>
		isRecord(call) && typeof call.id === 'string'
			? [{ id: call.id, name: isRecord(call.function) ? call.function.name : undefined }]
			: [],
	);
}

/** Converts a part with media. Returns no part for a text. */
export function toMediaPart(part: MessagePart): object[] {
	const media = toMedia(part);
	if (media === undefined) return [];
	const { kind, mime: mimeType, data, url } = media;
	const source = data === undefined ? { type: 'url', value: url, mimeType } : { type: 'data', value: data, mimeType };
	return [{ type: kind === 'image' || kind === 'audio' ? kind : 'document', source }];
}
