/** The parts of a result from another server: its limits, and its media. */
import { isBase64 } from '../base/bytes.ts';
import { dropUndefined } from '../base/json.ts';
import { type MessagePart, textPart } from '../base/part.ts';
import { truncateText } from '../base/text.ts';
import { parts } from './results.ts';

/** The maximum number of characters of a result, in its texts and in the base64 of its media. */
export const longestResult = 1_048_576;
/** The maximum number of parts of a result, without the note about missing parts. */
export const mostParts = 28;

/** Makes a part of base64. Accepts base64url and blanks. A text says so if the data is not base64. */
export function toMediaPart(
	kind: 'image' | 'audio' | 'file',
	data: string,
	about: { readonly mime?: string; readonly name?: string },
): MessagePart {
	const bare = data.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '');
	const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
	if (!isBase64(padded))
		return textPart(`[The server sent ${kind === 'file' ? 'a file' : `an ${kind}`} that is not base64.]`);
	return dropUndefined({ kind, data: padded, ...about });
}

/**
 * Makes the result of a tool: `empty` without parts, a text if that is all, else parts. Cuts it to its limits. A note
 * lists what is missing, and counts `leftOut` parts that the caller dropped.
 */
export function toPartsResult(list: readonly MessagePart[], empty: string, leftOut = 0): unknown {
	const all = cutParts(list, leftOut);
	const [first] = all;
	if (first === undefined) return empty;
	return all.length === 1 && first.kind === 'text' ? first.text : parts(all);
}

function cutParts(list: readonly MessagePart[], leftOut: number): readonly MessagePart[] {
	const kept: MessagePart[] = [];
	const missing: string[] = [];
	let room = longestResult;
	for (const part of list.slice(0, mostParts)) {
		const { text, data = '' } = part;
		if (text !== undefined && text.length > room) {
			kept.push({ ...part, text: truncateText(text, room) });
			missing.push(describeCut(text.length));
			room = 0;
		} else if (data.length > room)
			missing.push(
				`[Left out: ${part.kind === 'file' ? 'a file' : `an ${part.kind}`} of ${Math.floor((data.length * 3) / 4)} bytes.]`,
			);
		else {
			kept.push(part);
			room -= (text ?? '').length + data.length;
		}
	}
	const more = leftOut + Math.max(0, list.length - mostParts);
	if (more > 0) missing.push(`[Left out: ${more} more parts.]`);
	return missing.length === 0
		? kept
		: [...kept.filter(({ text, data }) => text !== '' || data !== undefined), textPart(missing.join('\n'))];
}

export function describeCut(length: number): string {
	return `[Cut: this text had ${length} characters. A result has at most ${longestResult}.]`;
}
