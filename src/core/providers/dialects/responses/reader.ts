import { RunletError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json.ts';
import type { Units } from '../../../chat/reply.ts';
import { toInputText } from '../../../tool/call.ts';
import type { ModelRequest, ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { CallKey, ReplyBuilder } from '../../adapter/reply.ts';
import { dropUnsendable, isPlain, type ResponsesDialect, readVisible, removeResults } from './input.ts';
import { countUnits, listSources, readServerCall, readUsageRecord } from './provider-tools.ts';

/** Matches the events that carry a piece of a text (`delta`) or the whole text (`done`). */
const textEvent =
	/^response\.(output_text|refusal|reasoning_summary_text|reasoning_text|function_call_arguments|custom_tool_call_input)\.(delta|done)$/;

/** The event field with the whole text, by kind of text. A kind that is not listed uses the field `text`. */
const wholeFields: Readonly<Record<string, string>> = {
	refusal: 'refusal',
	function_call_arguments: 'arguments',
	custom_tool_call_input: 'input',
};

/** Reads an answer of the Responses API, streamed or whole. */
export class ResponsesReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	readonly #tools: ModelRequest['tools'];
	readonly #ownCustomTools: boolean;
	readonly #whole = new Map<CallKey, Json>();
	readonly #keys = new Map<string, CallKey>();
	/** The received text of each part of each item. */
	readonly #received = new Map<string, string>();
	#newestCall: CallKey | undefined;
	#refused = false;
	#pending: string | undefined;
	/** The newest state of the response. Its items can be missing. */
	#response: Json = {};
	#units: Units = {};

	constructor(reply: ReplyBuilder, { tools }: ModelRequest, { ownCustomTools }: ResponsesDialect) {
		this.#reply = reply;
		this.#tools = tools;
		this.#ownCustomTools = ownCustomTools;
	}

	event(event: Json): void {
		const type = getString(event, 'type') ?? '';
		const response = getObject(event, 'response');
		const item = getObject(event, 'item');
		const [, kind, phase] = textEvent.exec(type) ?? [];
		// An error from a gateway has no `type`.
		if (type === 'error' || (type === '' && event.error)) throw new ProviderComplaint({ body: event });
		if (kind !== undefined) this.#readText(event, kind, phase === 'done');
		else if (type === 'response.created') this.#open(response);
		else if (type === 'response.output_item.added') this.#begin(this.#getKey(event, getString(item, 'id')), item);
		else if (type === 'response.output_item.done') this.#settle(this.#getKey(event, getString(item, 'id')), item);
		else if (type === 'response.completed') this.#end(response, 'completed');
		else if (type === 'response.incomplete') this.#end(response, 'incomplete');
		else if (type === 'response.failed' || type === 'response.cancelled') {
			this.#open(response);
			this.#fail(response);
		}
	}

	body(body: Json): void {
		const status = getString(body, 'status') ?? 'completed';
		this.#open(body, true);
		if (body.error || status === 'failed' || status === 'cancelled') this.#fail(body);
		if (this.#pending !== undefined) return;
		if (!Array.isArray(body.output)) throw new RunletError('interrupted', 'the answer is no response.');
		for (const [index, item] of getObjects(body, 'output').entries()) this.#settle(index, item);
		this.#finish(body, status);
	}

	pending(): string | undefined {
		return this.#pending;
	}

	resume(id: string): void {
		this.#pending = id;
	}

	/** Reads the piece of text that an event carries, or the whole text from the last event of this text. */
	#readText(event: Json, kind: string, isWhole: boolean): void {
		const key = this.#getKey(event);
		const isInput = kind === 'function_call_arguments' || kind === 'custom_tool_call_input';
		const place =
			kind === 'reasoning_summary_text'
				? `summary ${getNumber(event, 'summary_index') ?? 0}`
				: `content ${getNumber(event, 'content_index') ?? 0}`;
		const part = `${key} ${isInput ? 'input' : place}`;
		const field = isWhole ? (wholeFields[kind] ?? 'text') : 'delta';
		const text = getString(event, field) ?? '';
		const piece = isWhole ? this.#rest(part, text) : text;
		this.#refused ||= kind === 'refusal';
		if (isInput) this.#input(key, piece, kind === 'custom_tool_call_input');
		else if (kind.startsWith('reasoning')) this.#thought(part, piece);
		else this.#text(part, piece);
	}

	#getKey(event: Json, id = getString(event, 'item_id')): CallKey {
		const key = getNumber(event, 'output_index') ?? id ?? 0;
		if (id !== undefined) this.#keys.set(id, key);
		return key;
	}

	#isCall(item: Json): boolean {
		return (
			item.type === 'function_call' ||
			(item.type === 'custom_tool_call' &&
				(!this.#ownCustomTools || this.#tools.some(({ name }) => name === item.name)))
		);
	}

	#add(part: string, piece: string): void {
		this.#received.set(part, (this.#received.get(part) ?? '') + piece);
	}

	#text(part: string, piece: string): void {
		this.#add(part, piece);
		this.#reply.text(piece);
	}

	#thought(part: string, piece: string): void {
		if (!this.#received.has(part)) this.#reply.newThought();
		this.#add(part, piece);
		this.#reply.reasoning(piece);
	}

	#input(key: CallKey, piece: string, custom: boolean): void {
		this.#add(`${key} input`, piece);
		// The input of a custom tool is a text, which is passed on as a JSON string.
		this.#reply.input(key, custom ? JSON.stringify(piece).slice(1, -1) : piece);
	}

	/** Returns the part of a text that did not arrive in pieces. Empty if the received pieces differ from the text. */
	#rest(part: string, all: string): string {
		const received = this.#received.get(part) ?? '';
		return all.startsWith(received) ? all.slice(received.length) : '';
	}

	#begin(key: CallKey, item: Json): void {
		if (!this.#isCall(item) || this.#reply.callId(key) !== undefined) return;
		this.#newestCall = key;
		this.#reply.startCall(key, getString(item, 'call_id'), getString(item, 'name') ?? '');
		if (item.type === 'custom_tool_call') this.#reply.input(key, '"');
	}

	#settle(key: CallKey, wireItem: Json): void {
		const item = this.#takeImages(wireItem);
		this.#whole.set(key, item);
		this.#begin(key, item);
		if (this.#isCall(item)) {
			const custom = item.type === 'custom_tool_call';
			const all = custom ? item.input : isRecord(item.arguments) ? toInputText(item.arguments) : item.arguments;
			if (typeof all === 'string') this.#input(key, this.#rest(`${key} input`, all), custom);
			if (custom) this.#reply.input(key, '"');
			this.#reply.endCall(key);
			return;
		}
		const call = readServerCall(item);
		if (call !== undefined) {
			this.#reply.providerCall(call);
			this.#countUnits();
		}
		for (const [index, { text: all }] of getObjects(item, 'summary').entries()) {
			const part = `${key} summary ${index}`;
			if (typeof all === 'string') this.#thought(part, this.#rest(part, all));
		}
		for (const [index, content] of getObjects(item, 'content').entries()) {
			const part = `${key} content ${index}`;
			const rest = this.#rest(part, readVisible(content));
			if (item.type === 'reasoning') this.#thought(part, rest);
			else if (item.type === 'message') this.#text(part, rest);
			this.#refused ||= content.type === 'refusal' && readVisible(content) !== '';
		}
		for (const source of listSources(item)) this.#reply.source(source);
	}

	/** Replaces the image data in an item with file names. */
	#takeImages(item: Json): Json {
		const { result, ...rest } = item;
		if (item.type === 'code_interpreter_call' && Array.isArray(item.outputs))
			return { ...item, outputs: getObjects(item, 'outputs').map((output) => this.#takePlot(output)) };
		if (item.type !== 'image_generation_call' || typeof result !== 'string' || result === '') return item;
		const format = getString(item, 'output_format') ?? 'png';
		return { ...rest, file: this.#reply.image(format === 'svg' ? 'image/svg+xml' : `image/${format}`, result) };
	}

	/** Replaces an image of the code interpreter with the image's file name. */
	#takePlot(output: Json): Json {
		const [, mime, data] = /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(getString(output, 'url') ?? '') ?? [];
		return mime === undefined || data === undefined ? output : { type: 'image', file: this.#reply.image(mime, data) };
	}

	/** @param isWhole whether the response was not streamed. If so, an unfinished response goes on in the background */
	#open(response: Json, isWhole = false): void {
		this.#response = response;
		const goesOn = response.status === 'queued' || response.status === 'in_progress';
		const inBackground = isWhole || response.background === true;
		this.#pending = goesOn && inBackground ? getString(response, 'id') : undefined;
		this.#reply.setModel(getString(response, 'model'));
		if (isRecord(response.usage)) this.#reply.usage(readUsageRecord(response));
		const tier = getString(response, 'service_tier');
		if (tier !== undefined && !usualTiers.has(tier)) this.#reply.bill({ serviceTier: tier });
	}

	#fail(response: Json): never {
		const output = getObjects(response, 'output');
		this.#countUnits(output.length > this.#whole.size ? output : undefined);
		const { error, status } = response;
		const message = `the response ${status === 'cancelled' ? 'was cancelled' : 'failed, without saying why'}.`;
		throw new ProviderComplaint({ body: { error: error ?? { message } } });
	}

	/** Counts the units that are billed so far, because an interrupted response is billed too. */
	#countUnits(output: readonly Json[] = [...this.#whole.values()]): void {
		const none = Object.fromEntries(Object.keys(this.#units).map((unit) => [unit, 0]));
		this.#units = countUnits(this.#response, output);
		for (const [unit, count] of Object.entries({ ...none, ...this.#units })) this.#reply.count(unit, count);
	}

	#finish(response: Json, usual: string): void {
		this.#countUnits();
		const status = getString(response, 'status') ?? usual;
		const inOrder = [...this.#whole].sort(([a], [b]) => (typeof a === 'number' && typeof b === 'number' ? a - b : 0));
		const output = dropUnsendable(
			inOrder.map(([key, item]) => {
				if (!this.#isCall(item)) return removeResults(item);
				const { arguments: _, input: __, ...kept } = item;
				return { ...kept, call_id: this.#reply.callId(key) };
			}),
		);
		const last = this.#newestCall === undefined ? undefined : this.#whole.get(this.#newestCall);
		const reason = getString(getObject(response, 'incomplete_details'), 'reason');
		this.#reply.finish({
			reason: findCut(status, reason) ?? (this.#refused ? 'refusal' : 'end_turn'),
			raw: {
				id: response.id,
				model: response.model,
				status,
				incomplete_details: response.incomplete_details,
				...(isRecord(response.moderation) && { moderation: response.moderation }),
			},
			metadata: output.every(isPlain) ? undefined : { output },
			lastCallCut: this.#newestCall !== undefined && (last === undefined || last.status === 'incomplete'),
		});
	}

	#end(response: Json, status: string): void {
		this.#open(response);
		const output = getObjects(response, 'output');
		if (this.#whole.size < output.length) {
			for (const [index, item] of output.entries()) {
				const key = this.#keys.get(getString(item, 'id') ?? '') ?? index;
				if (!this.#whole.has(key)) this.#settle(key, item);
			}
		}
		this.#finish(response, status);
	}
}

/** The service tiers with the standard price. */
const usualTiers: ReadonlySet<string> = new Set(['default', 'auto', 'standard']);

/** Returns why a reply is incomplete, or `undefined` if it is complete. */
function findCut(status: string, reason = 'max_output_tokens'): string | undefined {
	if (status !== 'incomplete') return undefined;
	if (reason === 'content_filter') return 'refusal';
	return reason === 'max_output_tokens' ? 'max_tokens' : reason;
}
