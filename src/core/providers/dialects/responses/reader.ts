import { RunletError } from '../../../ground/errors.ts';
import { isRecord } from '../../../ground/json.ts';
import { toInputText } from '../../../tool/input.ts';
import type { ModelRequest, ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { CallKey, ReplyBuilder } from '../../adapter/reply.ts';
import { dropUnsendable, isPlain, type ResponsesDialect, readVisible } from './input.ts';

type Room = undefined | Promise<void>;

/** Reads an answer of the Responses API, streamed or whole. */
export function responsesReader(
	reply: ReplyBuilder,
	{ tools }: ModelRequest,
	{ ownCustomTools }: ResponsesDialect,
): ReplyReader {
	const whole = new Map<CallKey, Json>();
	const keys = new Map<string, CallKey>();
	/** What of each part of each item has come. */
	const came = new Map<string, string>();
	let newestCall: CallKey | undefined;
	let refused = false;

	const getKey = (event: Json, id = getString(event, 'item_id')): CallKey => {
		const key = getNumber(event, 'output_index') ?? id ?? 0;
		if (id !== undefined) keys.set(id, key);
		return key;
	};
	const isCall = (item: Json): boolean =>
		item.type === 'function_call' ||
		(item.type === 'custom_tool_call' && (!ownCustomTools || tools.some(({ name }) => name === item.name)));
	const add = (part: string, piece: string): void => void came.set(part, (came.get(part) ?? '') + piece);
	const text = (part: string, piece: string): Room => {
		add(part, piece);
		return reply.text(piece);
	};
	const thought = (part: string, piece: string): Room => {
		if (!came.has(part)) reply.newThought();
		add(part, piece);
		return reply.reasoning(piece);
	};
	const input = (key: CallKey, piece: string, custom: boolean): Room => {
		add(`${key} input`, piece);
		// A custom tool takes text; as a JSON string it stays one, whatever it looks like.
		return reply.input(key, custom ? JSON.stringify(piece).slice(1, -1) : piece);
	};
	/** What of a text did not come in pieces. Nothing where the pieces say otherwise: they were shown. */
	const rest = (part: string, all: string): string => {
		const had = came.get(part) ?? '';
		return all.startsWith(had) ? all.slice(had.length) : '';
	};

	const begin = (key: CallKey, item: Json): Room => {
		if (!isCall(item) || reply.callId(key) !== undefined) return undefined;
		newestCall = key;
		const { room } = reply.startCall(key, getString(item, 'call_id'), getString(item, 'name') ?? '');
		return item.type === 'custom_tool_call' ? reply.input(key, '"') : room;
	};
	const settle = (key: CallKey, item: Json): Room => {
		whole.set(key, item);
		let room = begin(key, item);
		if (isCall(item)) {
			const custom = item.type === 'custom_tool_call';
			const all = custom ? item.input : isRecord(item.arguments) ? toInputText(item.arguments) : item.arguments;
			if (typeof all === 'string') room = input(key, rest(`${key} input`, all), custom) ?? room;
			if (custom) room = reply.input(key, '"') ?? room;
			return reply.endCall(key) ?? room;
		}
		for (const [index, { text: all }] of getObjects(item, 'summary').entries()) {
			const part = `${key} summary ${index}`;
			if (typeof all === 'string') room = thought(part, rest(part, all)) ?? room;
		}
		for (const [index, content] of getObjects(item, 'content').entries()) {
			const part = `${key} content ${index}`;
			const all = rest(part, readVisible(content));
			if (item.type === 'reasoning') room = thought(part, all) ?? room;
			else if (item.type === 'message') room = text(part, all) ?? room;
			refused ||= content.type === 'refusal' && readVisible(content) !== '';
		}
		return room;
	};
	const open = (response: Json): void => {
		reply.setModel(getString(response, 'model'));
		if (isRecord(response.usage)) reply.usage(response.usage);
	};
	const fail = ({ error, status }: Json): never => {
		const message = `the response ${status === 'cancelled' ? 'was cancelled' : 'failed, without saying why'}.`;
		throw new ProviderComplaint({ body: { error: error ?? { message } } });
	};
	const finish = (response: Json, usual: string): void => {
		const status = getString(response, 'status') ?? usual;
		const inOrder = [...whole].sort(([a], [b]) => (typeof a === 'number' && typeof b === 'number' ? a - b : 0));
		const output = dropUnsendable(
			inOrder.map(([key, item]) => {
				if (!isCall(item)) return item;
				const { arguments: _, input: __, ...kept } = item;
				return { ...kept, call_id: reply.callId(key) };
			}),
		);
		const last = newestCall === undefined ? undefined : whole.get(newestCall);
		const reason = getString(getObject(response, 'incomplete_details'), 'reason');
		reply.finish({
			reason: findCut(status, reason) ?? (refused ? 'refusal' : 'end_turn'),
			raw: { id: response.id, model: response.model, status, incomplete_details: response.incomplete_details },
			metadata: output.every(isPlain) ? undefined : { output },
			lastCallCut: newestCall !== undefined && (last === undefined || last.status === 'incomplete'),
		});
	};
	const end = (response: Json, status: string): Room => {
		open(response);
		let room: Room;
		const output = getObjects(response, 'output');
		if (whole.size < output.length) {
			for (const [index, item] of output.entries()) {
				const key = keys.get(getString(item, 'id') ?? '') ?? index;
				if (!whole.has(key)) room = settle(key, item) ?? room;
			}
		}
		finish(response, status);
		return room;
	};

	return {
		event: (event) => {
			const delta = getString(event, 'delta') ?? '';
			const content = (): string => `${getKey(event)} content ${getNumber(event, 'content_index') ?? 0}`;
			const summary = (): string => `${getKey(event)} summary ${getNumber(event, 'summary_index') ?? 0}`;
			switch (event.type) {
				case 'response.created':
					return void open(getObject(event, 'response'));
				case 'response.output_item.added': {
					const item = getObject(event, 'item');
					return begin(getKey(event, getString(item, 'id')), item);
				}
				case 'response.output_item.done': {
					const item = getObject(event, 'item');
					return settle(getKey(event, getString(item, 'id')), item);
				}
				case 'response.output_text.delta':
					return text(content(), delta);
				case 'response.output_text.done':
					return text(content(), rest(content(), getString(event, 'text') ?? ''));
				case 'response.refusal.delta':
					refused = true;
					return text(content(), delta);
				case 'response.refusal.done':
					refused = true;
					return text(content(), rest(content(), getString(event, 'refusal') ?? ''));
				case 'response.reasoning_summary_text.delta':
					return thought(summary(), delta);
				case 'response.reasoning_summary_text.done':
					return thought(summary(), rest(summary(), getString(event, 'text') ?? ''));
				case 'response.reasoning_text.delta':
					return thought(content(), delta);
				case 'response.reasoning_text.done':
					return thought(content(), rest(content(), getString(event, 'text') ?? ''));
				case 'response.function_call_arguments.delta':
					return input(getKey(event), delta, false);
				case 'response.custom_tool_call_input.delta':
					return input(getKey(event), delta, true);
				case 'response.function_call_arguments.done':
					return input(getKey(event), rest(`${getKey(event)} input`, getString(event, 'arguments') ?? ''), false);
				case 'response.custom_tool_call_input.done':
					return input(getKey(event), rest(`${getKey(event)} input`, getString(event, 'input') ?? ''), true);
				case 'response.completed':
					return end(getObject(event, 'response'), 'completed');
				case 'response.incomplete':
					return end(getObject(event, 'response'), 'incomplete');
				case 'response.failed':
				case 'response.cancelled':
					open(getObject(event, 'response'));
					return fail(getObject(event, 'response'));
				case 'error':
					throw new ProviderComplaint({ body: event });
				default:
					// A gateway's error has no type.
					if (event.type === undefined && event.error) throw new ProviderComplaint({ body: event });
					return undefined;
			}
		},
		body: async (body) => {
			const status = getString(body, 'status') ?? 'completed';
			open(body);
			if (body.error || status === 'failed' || status === 'cancelled') fail(body);
			if (status === 'queued' || status === 'in_progress') {
				throw new RunletError('interrupted', `the response is ${status}: one in the background cannot be waited for.`);
			}
			if (!Array.isArray(body.output)) throw new RunletError('interrupted', 'the answer is no response.');
			for (const [index, item] of getObjects(body, 'output').entries()) await settle(index, item);
			finish(body, status);
		},
	};
}

/** Why a reply is not whole, in Runlet's words; `undefined` for a whole one. */
function findCut(status: string, reason = 'max_output_tokens'): string | undefined {
	if (status !== 'incomplete') return undefined;
	if (reason === 'content_filter') return 'refusal';
	return reason === 'max_output_tokens' ? 'max_tokens' : reason;
}
