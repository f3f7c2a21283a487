import * as v from 'valibot';
import { countBase64Bytes, countBytes } from '../../../../core/base/bytes.ts';
import { longText, maxId, shortText } from '../../limits.ts';
import type { Attachment } from '../../message.ts';

export const textPart = v.object({ type: v.literal('text'), text: longText });
export const filePart = v.object({
	type: v.literal('file'),
	// The check of attachments refuses longer names and types. Its error names the field.
	mediaType: longText,
	url: longText,
	filename: v.nullish(longText),
});
export const answeredPart = v.variant('state', [
	v.object({ toolCallId: shortText(maxId), state: v.literal('output-available'), output: v.optional(v.unknown()) }),
	v.object({ toolCallId: shortText(maxId), state: v.literal('output-error'), errorText: v.optional(longText, '') }),
	v.object({
		toolCallId: shortText(maxId),
		state: v.picklist(['approval-responded', 'output-denied']),
		approval: v.object({ approved: v.optional(v.boolean(), false), reason: v.nullish(longText) }),
	}),
]);

export function readContent(parts: readonly unknown[]): {
	readonly text: string | undefined;
	readonly files: Attachment[];
} {
	const texts = parts.flatMap((part) => (v.is(textPart, part) ? [part.text] : []));
	const files = parts.flatMap((part) => (v.is(filePart, part) ? [part] : []));
	const text = texts.join('\n\n');
	return { text: text.trim() === '' ? undefined : text, files: files.map(toFile) };
}

/** An answer to a call in an assistant's message: a result, or whether the call may run. */
export type UiAnswer =
	| { readonly id: string; readonly output: unknown; readonly isError?: boolean }
	| { readonly id: string; readonly approve: boolean; readonly reason?: string };

/** Reads the answers in the parts of a message. Some of them may be old or invented. */
export function readAnswers(parts: readonly unknown[]): UiAnswer[] {
	return parts.flatMap((part): UiAnswer[] => {
		const read = v.safeParse(answeredPart, part);
		if (!read.success) return [];
		const { output: answer } = read;
		const { toolCallId: id } = answer;
		switch (answer.state) {
			case 'output-available':
				return [{ id, output: answer.output ?? null }];
			case 'output-error':
				return [{ id, output: answer.errorText, isError: true }];
			default: {
				const { approved, reason } = answer.approval;
				const why = reason ? { reason: reason.slice(0, 2_000) } : {};
				return [{ id, approve: answer.state === 'approval-responded' && approved, ...why }];
			}
		}
	});
}

function toFile({ mediaType, url, filename }: v.InferOutput<typeof filePart>, index: number): Attachment {
	const type = mediaType.split(';')[0]?.trim() || 'application/octet-stream';
	const name = filename || `file-${index + 1}.${findExtension(type)}`;
	const data = /^data:[^,]*?(;base64)?,/i.exec(url);
	if (data === null) return { name, type, size: 0, contentUrl: url };
	const content = url.slice(data[0].length);
	if (data[1] === undefined) {
		const contentText = decodeUri(content);
		return { name, type, size: countBytes(contentText), contentText };
	}
	return { name, type, size: countBase64Bytes(content), contentBase64: content };
}

function decodeUri(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function findExtension(type: string): string {
	return type.split(/[^a-z0-9]/i).at(-1) || 'bin';
}
