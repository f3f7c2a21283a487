import * as v from 'valibot';
import { isBase64, joinBytes, toBase64 } from '../base/bytes.ts';
import { RunletError } from '../base/errors.ts';
import { dropUndefined, isRecord } from '../base/json.ts';
import { type MessagePart, textPart } from '../base/part.ts';
import { truncateText } from '../base/text.ts';
import { parts } from '../tool/index.ts';
import { checkOutput } from '../tool/schema.ts';
import type { ToolDefinition } from './acceptance.ts';

const longestResult = 1_048_576;
/** The maximum number of parts of a result, without the note about missing parts. */
const mostParts = 28;

const optionalText = v.optional(v.string());
const resource = v.object({ uri: v.string(), mimeType: optionalText, text: optionalText, blob: optionalText });
const block = v.variant('type', [
	v.object({ type: v.literal('text'), text: v.string() }),
	v.object({ type: v.picklist(['image', 'audio']), data: v.string(), mimeType: optionalText }),
	v.object({ type: v.literal('resource'), resource }),
	v.object({
		type: v.literal('resource_link'),
		uri: v.string(),
		name: optionalText,
		title: optionalText,
		description: optionalText,
		mimeType: optionalText,
	}),
]);
type Block = v.InferOutput<typeof block>;

const callResult = v.object({
	content: v.optional(v.array(v.unknown()), []),
	structuredContent: v.optional(v.unknown()),
	isError: v.optional(v.boolean(), false),
});

/**
 * Converts an answer to a text, JSON, or parts. Throws `invalid_request` with the server's message for a failed call.
 */
export async function readCallResult({ name, outputSchema }: ToolDefinition, answer: unknown): Promise<unknown> {
	const parsed = v.safeParse(callResult, answer);
	if (!parsed.success) {
		const message = `${name}: the server answered with what is no result. The call may have had effects.`;
		throw new RunletError('invalid_request', message);
	}
	const { content, structuredContent, isError } = parsed.output;
	const list = content.slice(0, mostParts).map(readBlock);
	const leftOut = content.length - list.length;
	if (isError) throw new RunletError('invalid_request', toText(list, structuredContent));
	const violation = outputSchema && (await findViolation(outputSchema, structuredContent));
	const json = structuredContent === undefined ? undefined : JSON.stringify(structuredContent);
	const isComplete = violation === undefined && leftOut === 0;
	if (isComplete && json !== undefined && json.length <= longestResult && list.every((part) => isCopy(part, json)))
		return structuredContent;
	const isShown = json === undefined || list.some((part) => isCopy(part, json) || isOnlyText(part, structuredContent));
	const data = isShown ? [] : [textPart(json)];
	const notes = violation === undefined ? [] : [textPart(violation)];
	const all = cutParts([...notes, ...list, ...data], leftOut);
	const [first] = all;
	if (first === undefined) return 'The tool answered without content.';
	return all.length === 1 && first.kind === 'text' ? first.text : parts(all);
}

/** Describes how structured content violates the output schema. */
async function findViolation(
	outputSchema: Readonly<Record<string, unknown>>,
	value: unknown,
): Promise<string | undefined> {
	const missing = value === undefined ? ['it has no structured content'] : undefined;
	const checked = missing === undefined ? await checkOutput(outputSchema, value) : { issues: missing };
	if (!('issues' in checked)) return undefined;
	return `[This result is not what the tool promises: ${truncateText(checked.issues.slice(0, 5).join('; '), 500)}]`;
}

function toText(list: readonly MessagePart[], structured: unknown): string {
	const texts = list.flatMap(({ kind, text }) => (kind === 'text' && text !== undefined ? [text] : []));
	if (texts.length === 0 && structured !== undefined) texts.push(JSON.stringify(structured));
	const text = texts.join('\n\n');
	if (text.trim() === '') return 'The server says that the call failed, and does not say why.';
	return text.length <= longestResult ? text : `${truncateText(text, longestResult)}\n\n${describeCut(text.length)}`;
}

/** Whether a part is a copy of the structured content, which servers send for older clients. */
function isCopy({ kind, text }: MessagePart, json: string): boolean {
	if (kind !== 'text' || text === undefined) return false;
	if (text === json) return true;
	// The same JSON in another format differs only by spaces, so it is not much longer.
	if (text.length > 2 * json.length + 1_000) return false;
	try {
		return JSON.stringify(JSON.parse(text)) === json;
	} catch {
		return false;
	}
}

/** Whether structured content is an object whose only value is the text of the part. */
function isOnlyText({ kind, text }: MessagePart, structured: unknown): boolean {
	const values = isRecord(structured) ? Object.values(structured) : [];
	return kind === 'text' && values.length === 1 && values[0] === text;
}

function readBlock(content: unknown): MessagePart {
	const parsed = v.safeParse(block, content);
	return parsed.success ? toPart(parsed.output) : textPart('[The server sent content of an unknown kind.]');
}

function toPart(content: Block): MessagePart {
	switch (content.type) {
		case 'text':
			return textPart(content.text);
		case 'image':
		case 'audio':
			return toMediaPart(content.type, content.data, { mime: content.mimeType });
		case 'resource_link': {
			const { uri, name, title, description, mimeType } = content;
			const about = [mimeType, description].filter((text) => text !== undefined && text !== '').join(', ');
			return {
				...textPart(`[Resource ${title ?? name ?? uri}: ${uri}${about === '' ? '' : ` (${about})`}]`),
				meta: { uri },
			};
		}
		case 'resource': {
			const { uri, mimeType, text, blob } = content.resource;
			const about = { mime: mimeType ?? (text === undefined ? undefined : 'text/plain'), name: uri };
			return toMediaPart('file', blob ?? toBase64(joinBytes(text ?? '')), about);
		}
		default:
			return content satisfies never;
	}
}

function toMediaPart(
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

/** Cuts a result to its limits. A note lists what is missing, and counts `leftOut` parts that the caller dropped. */
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

function describeCut(length: number): string {
	return `[Cut: this text had ${length} characters. A result has at most ${longestResult}.]`;
}
