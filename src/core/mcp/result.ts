import * as v from 'valibot';
import { joinBytes, toBase64 } from '../base/bytes.ts';
import { RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type MessagePart, textPart } from '../base/part.ts';
import { truncateText } from '../base/text.ts';
import { checkOutput } from '../tool/schema.ts';
import { describeCut, longestResult, mostParts, toMediaPart, toPartsResult } from '../tool/server-parts.ts';
import type { ToolDefinition } from './acceptance.ts';

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
	return toPartsResult([...notes, ...list, ...data], 'The tool answered without content.', leftOut);
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
