import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import { type ToolMessage, toolResultMessage } from '../../core/chat/index.ts';
import { type AguiInput, aguiDecision, aguiMessage } from '../wire/agui.ts';
import { approvalEntry } from '../wire/call.ts';
import type { Attachment } from '../wire/message.ts';
import { attachmentsField, contextName, textField } from '../wire/message.ts';
import { toText } from '../wire/protocols/ui/calls.ts';
import { readContent } from '../wire/protocols/ui/request.ts';
import { listCalls } from './message.ts';

/** The new part of a thread. An `answer` comes alone. */
export interface NewPart {
	/** The user's new message. */
	readonly message?: {
		readonly text: string | undefined;
		readonly attachments: readonly Attachment[];
		readonly messageId: string | undefined;
	};
	/** Results of calls, and decisions about calls. Some of them may be old or invented. */
	readonly answers: readonly CallAnswer[];
	/** The results of the client's tools for the calls of the newest answer. */
	readonly results: readonly ToolMessage[];
	/** The answer to a tool's question. */
	readonly answer?: { readonly callId: string; readonly text: string };
	/** What the client's answers show as the results of their calls, unless the run has other results. */
	readonly given: ReadonlyMap<string, string>;
}

/** What an interrupt waits for. The id of an interrupt is `KIND:CALL`. */
export type InterruptKind = 'approval' | 'result' | 'answer';

export function formatInterruptId(kind: InterruptKind, callId: string): string {
	return `${kind}:${callId}`;
}

/**
 * Reads the new part of a thread: the messages after the last assistant message, and the answers to interrupts. Throws
 * `invalid_request`, which names the field.
 */
export function readNewPart({ messages, context, resume, tools }: AguiInput): NewPart {
	const behind = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
	const results: ToolMessage[] = [];
	let message: NewPart['message'];
	for (const [index, one] of messages.entries()) {
		if (index < behind || (one.role !== 'user' && one.role !== 'tool')) continue;
		const field = `messages.${index}`;
		const read = checkAt(aguiMessage, one, field);
		// Of several new messages only the last one counts: the session has the others, or refused them.
		if (read.role === 'user') message = readMessage(read, context, field);
		else results.push(toResult(read));
	}
	const resumed = readResume(resume ?? []);
	if (message !== undefined && (resume ?? []).length > 0)
		throw createFieldError('invalid_request', 'resume', 'send the new message after the run that takes these answers.');
	const given = results.map(({ toolCallId: id, content: output, isError }) => ({ id, output, isError }));
	const own = listCalls(messages[behind - 1]).filter((call) => tools?.some(({ name }) => name === call.name));
	return {
		message,
		...resumed,
		answers: [...given, ...resumed.answers],
		results: results.filter(({ toolCallId }) => own.some(({ id }) => id === toolCallId)),
	};
}

type ReadMessage = v.InferOutput<typeof aguiMessage>;

function readMessage(
	{ id, content }: Extract<ReadMessage, { role: 'user' }>,
	context: AguiInput['context'],
	field: string,
): NewPart['message'] {
	const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(toUiPart);
	const { text, files } = readContent(parts);
	const attachments = checkAt(attachmentsField, files, field) ?? [];
	checkAt(v.optional(textField), text, `${field}.content`);
	if (text === undefined && attachments.length === 0)
		throw createFieldError('invalid_request', `${field}.content`, 'it has neither text nor files.');
	return { text, attachments: [...attachments, ...toAttachment(context ?? [])], messageId: id || undefined };
}

/** Converts a part to the form of an AI SDK page, whose files become attachments. */
function toUiPart(part: Exclude<Extract<ReadMessage, { role: 'user' }>['content'], string>[number]) {
	if (part.type === 'text') return part;
	const { source, metadata } = part;
	const { value } = source;
	const mediaType =
		source.mimeType ?? { image: 'image/png', audio: 'audio/wav', video: 'video/mp4', document: '' }[part.type];
	const url = source.type === 'url' ? value : `data:${mediaType};base64,${value}`;
	return { type: 'file', mediaType, url, filename: metadata?.filename };
}

/** Puts the page's context into an attachment, which the model gets in a fence and people do not see as text. */
function toAttachment(context: NonNullable<AguiInput['context']>): readonly Attachment[] {
	if (context.length === 0) return [];
	const contentText = context.map(({ description, value }) => `${description}: ${value}`).join('\n');
	const size = new TextEncoder().encode(contentText).byteLength;
	return [{ name: contextName, type: 'text/plain', size, contentText }];
}

function toResult({ toolCallId: id, content, error }: Extract<ReadMessage, { role: 'tool' }>): ToolMessage {
	const text = typeof content === 'string' ? content : content.map((part) => part.text).join('\n\n');
	return toolResultMessage({ id, output: text || (error ?? ''), isError: error != null });
}

const denied = 'A person did not allow this call';

function readResume(resume: NonNullable<AguiInput['resume']>): Pick<NewPart, 'answers' | 'answer' | 'given'> {
	const answers: CallAnswer[] = [];
	const given = new Map<string, string>();
	let answer: NewPart['answer'];
	for (const [index, { interruptId, status, payload }] of resume.entries()) {
		const [, kind, id = ''] = /^(approval|result|answer):(.+)$/s.exec(interruptId) ?? [];
		const field = `resume.${index}`;
		const isCancelled = status === 'cancelled';
		if (kind === undefined)
			throw createFieldError('invalid_request', `${field}.interruptId`, 'no interrupt of an agent here has this id.');
		if (kind === 'answer') {
			answer = { callId: id, text: isCancelled ? 'The person gave no answer.' : toAnswerText(payload, field) };
			given.set(id, answer.text);
		} else if (kind === 'result') {
			const output = isCancelled ? `${denied}.` : (payload ?? null);
			answers.push({ id, output, isError: isCancelled });
			given.set(id, toText(output));
		} else {
			const decision = isCancelled ? { id, approve: false } : readDecision(id, payload, `${field}.payload`);
			answers.push(decision);
			if (!decision.approve)
				given.set(id, decision.reason === undefined ? `${denied}.` : `${denied}: ${decision.reason}`);
		}
	}
	if (answer !== undefined && resume.length > 1)
		throw createFieldError('invalid_request', 'resume', 'a question is the only interrupt of its run.');
	return { answers, answer, given };
}

/** Reads a decision. `true` and `false` are short forms of `{ approved }`. */
function readDecision(id: string, payload: unknown, field: string) {
	const { approved, editedArgs, reason } = checkAt(
		aguiDecision,
		typeof payload === 'boolean' ? { approved: payload } : payload,
		field,
	);
	const edit = editedArgs === undefined ? {} : { input: editedArgs };
	return checkAt(approvalEntry, { id, approve: approved, ...edit, ...(reason !== undefined && { reason }) }, field);
}

/** Returns the text of an answer. A decision becomes the words that decide about the call of a child. */
function toAnswerText(payload: unknown, field: string): string {
	if (!isRecord(payload) || typeof payload.approved !== 'boolean')
		return check(
			textField,
			isRecord(payload) && typeof payload.answer === 'string' ? payload.answer : toText(payload),
			`${field}.payload`,
		);
	const { approved, editedArgs, reason } = payload;
	if (approved) return editedArgs === undefined ? 'approve' : `approve ${toText(editedArgs)}`;
	return typeof reason === 'string' ? `deny ${reason}` : 'deny';
}

/** Checks a value inside the body. The message of a failure names the whole path to the mistake. */
function checkAt<const S extends v.GenericSchema>(schema: S, value: unknown, path: string): v.InferOutput<S> {
	try {
		return check(schema, value, path);
	} catch (error) {
		if (!(error instanceof RunletError) || error.data?.field === path) throw error;
		const message = `${path}.${error.message}`;
		throw new RunletError(error.code, message, { field: `${path}.${String(error.data?.field)}` });
	}
}
