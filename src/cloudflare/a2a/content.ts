import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import { resultsBody } from '../wire/call.ts';
import { type Attachment, attachmentsField, textField } from '../wire/message.ts';
import type { Message, Part } from '../wire/protocols/a2a/message.ts';
import { readContent } from '../wire/protocols/ui/request.ts';

interface Content {
	readonly text: string | undefined;
	readonly attachments: readonly Attachment[];
}

const field = 'message.parts';

/** Reads what a message says. Data becomes text. */
export function readMessage({ parts }: Pick<Message, 'parts'>): Content {
	const { text, files } = readContent(parts.map(toUiPart));
	const attachments = check(attachmentsField, files, field) ?? [];
	if (text === undefined && attachments.length === 0)
		throw createFieldError('invalid_request', field, 'they have neither text nor files.');
	return { text: check(v.optional(textField), text, field), attachments };
}

/** Reads the decisions and results in the data of a message. Undefined for a message with other parts. */
export function readAnswers({ parts }: Pick<Message, 'parts'>): readonly CallAnswer[] | undefined {
	const answers = parts.flatMap(({ data }) => (Array.isArray(data) ? data : [data]));
	const isAnswer = answers.every((one) => isRecord(one) && 'id' in one && ('approve' in one || 'output' in one));
	return isAnswer ? check(resultsBody, answers, field) : undefined;
}

/** Converts a part to the form of an AI SDK page, whose files become attachments. */
function toUiPart({ text, raw, url, data, mediaType, filename }: Part) {
	if (data !== undefined) return { type: 'text', text: JSON.stringify(data) };
	if (text !== undefined) return { type: 'text', text };
	const type = mediaType || 'application/octet-stream';
	return { type: 'file', mediaType: type, url: url ?? `data:${type};base64,${raw}`, filename: filename || undefined };
}
