import { RunletError } from '../../../../core/base/errors.ts';
import type { CallAnswer } from '../../../../core/chat/call-answers.ts';
import type { ClientMessage, ClientPart } from '../openai/schema.ts';
import { parseCallId, parseItemId, type RunPlace } from './ids.ts';
import type { InputContent, InputItem, ResponseRequest } from './schema.ts';

export interface ReadInput {
	/** The session that the items of the input belong to, and the run after which they go on. */
	readonly named?: Pick<RunPlace, 'session'> & Partial<RunPlace>;
	/** The messages in the form of Chat Completions. */
	readonly messages: readonly ClientMessage[];
	/** The fields of the request that the messages come from. */
	readonly fields: readonly string[];
	/** Decisions and results, if the input has decisions. In this case there are no messages. */
	readonly answers?: readonly CallAnswer[];
}

/**
 * Reads the input of a request. After a response, which the request or the newest output item of the input names, only
 * the items after the newest output item count: the session has the others. Throws `invalid_request`, which names the
 * item.
 *
 * @param goesOn where the request says that it goes on
 */
export function readInput(input: ResponseRequest['input'], goesOn: 'response' | 'conversation' | undefined): ReadInput {
	if (typeof input === 'string') return { messages: [{ role: 'user', content: input }], fields: ['input'] };
	const behind = input.findLastIndex(isOutput) + 1;
	const decisions = input.slice(behind).filter(isDecision);
	const named = goesOn === undefined ? findNamed(input, behind) : undefined;
	const from = goesOn === 'response' || named !== undefined ? behind : 0;
	if (decisions.length > 0) return { named, messages: [], fields: [], answers: readAnswers(input, behind) };
	return { named, ...toMessages(input, from) };
}

function isDecision(item: InputItem) {
	return item.type === 'mcp_approval_response';
}

function isOutput(item: InputItem): boolean {
	if (item.type === 'message') return item.role === 'assistant';
	return item.type !== 'function_call_output' && item.type !== 'mcp_approval_response';
}

/** Finds the session to which the newest output items, or the answers behind them, belong. */
function findNamed(input: readonly InputItem[], behind: number): ReadInput['named'] {
	const from = input.slice(0, behind).findLastIndex((item) => !isOutput(item)) + 1;
	for (const item of input.slice(from).reverse()) {
		const ids = [
			'call_id' in item ? item.call_id : undefined,
			'approval_request_id' in item ? item.approval_request_id : undefined,
			'id' in item ? item.id : undefined,
		];
		for (const id of ids) {
			const named = id == null ? undefined : (parseCallId(id) ?? parseItemId(id));
			if (named !== undefined) return named;
		}
	}
	return undefined;
}

function toCallId(id: string): string {
	return parseCallId(id)?.callId ?? id;
}

function readAnswers(input: readonly InputItem[], from: number): CallAnswer[] {
	return input.slice(from).map((item, index): CallAnswer => {
		const field = `input.${from + index}`;
		if (item.type === 'function_call_output')
			return { id: toCallId(item.call_id), output: toText(item.output, `${field}.output`) };
		if (item.type !== 'mcp_approval_response')
			throw createRefusal(field, 'a decision comes without a message. Send the message when the run has ended');
		const { approval_request_id: id, approve, reason } = item;
		const callId = parseCallId(id)?.callId;
		if (callId === undefined)
			throw createRefusal(`${field}.approval_request_id`, 'no request for approval has this id');
		return { id: callId, approve, ...(reason != null && { reason }) };
	});
}

type Assistant = Extract<ClientMessage, { role: 'assistant' }>;

function toMessages(input: readonly InputItem[], from: number): Pick<ReadInput, 'messages' | 'fields'> {
	const messages: ClientMessage[] = [];
	const fields: string[] = [];
	/** The assistant message to which the next call belongs. */
	let turn: Assistant | undefined;
	const add = <M extends ClientMessage>(one: M, field: string): M => {
		messages.push(one);
		fields.push(field);
		turn = undefined;
		return one;
	};
	for (const [at, item] of input.entries()) {
		if (at < from) continue;
		const field = `input.${at}`;
		if (item.type === 'message') {
			const { role, content } = item;
			if (role === 'user') add({ role, content: toParts(content, field) }, field);
			else if (role === 'assistant') turn = add({ role, content: toText(content, field) }, field);
			else add({ role, content: toText(content, field) }, field);
		} else if (item.type === 'function_call') {
			const { name, arguments: text } = item;
			const id = toCallId(item.call_id);
			turn ??= add({ role: 'assistant', content: null }, field);
			turn.tool_calls = [...(turn.tool_calls ?? []), { id, type: 'function', function: { name, arguments: text } }];
		} else if (item.type === 'function_call_output') {
			add(
				{ role: 'tool', tool_call_id: toCallId(item.call_id), content: toText(item.output, `${field}.output`) },
				field,
			);
		} else if (item.type === 'compaction') {
			add({ role: 'user', content: `Summary of the conversation so far:\n\n${item.encrypted_content}` }, field);
		} else if (item.type === 'item_reference' && /^(msg|fc)_/.test(item.id)) {
			const why = 'only the newest item can be a reference. Send the item itself, or previous_response_id';
			throw createRefusal(`${field}.id`, why);
		}
	}
	return { messages, fields };
}

function toParts(content: InputContent, field: string): string | ClientPart[] {
	if (typeof content === 'string') return content;
	return content.map((part): ClientPart => {
		switch (part.type) {
			case 'input_image':
				return { type: 'image_url', image_url: { url: part.image_url, detail: part.detail } };
			case 'input_file':
				return { type: 'file', file: { file_data: part.file_data ?? part.file_url ?? '', filename: part.filename } };
			case 'refusal':
				throw createRefusal(field, 'a refusal is part of an assistant message');
			default:
				return { type: 'text', text: part.text };
		}
	});
}

function toText(content: InputContent, field: string): string {
	if (typeof content === 'string') return content;
	const texts = content.map((part, index) => {
		if (part.type === 'refusal') return part.refusal;
		if (part.type === 'input_image' || part.type === 'input_file')
			throw createRefusal(`${field}.${index}`, 'only texts are possible here. Send images and files in a user message');
		return part.text;
	});
	return texts.join('\n\n');
}

/** Runs a check of Chat Completions. Its errors name the fields of this request. */
export function nameFields<T>(fields: readonly string[], run: () => T): T {
	try {
		return run();
	} catch (error) {
		if (!(error instanceof RunletError) || typeof error.data?.field !== 'string') throw error;
		const { field } = error.data;
		const own = field
			.replace(/^messages\.(\d+)(\.tool_calls\.\d+)?/, (_, index) => fields[Number(index)] ?? 'input')
			.replace(/^response_format\.json_schema/, 'text.format')
			.replace(/\.function(?=\.|$)/, '')
			.replace(/\.tool_call_id$/, '.call_id');
		throw new RunletError(error.code, error.message.replace(field, own), { ...error.data, field: own });
	}
}

function createRefusal(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
