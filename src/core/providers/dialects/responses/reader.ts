import { RunletError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json.ts';
import type { Units } from '../../../chat/usage.ts';
import { toInputText } from '../../../tool/call.ts';
import type { ModelRequest, ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { CallKey, ReplyBuilder } from '../../adapter/reply.ts';
import { dropUnsendable, isPlain, type ResponsesDialect, readVisible, toSmall } from './input.ts';
import { listSources, readServerCall } from './server-calls.ts';
import { countUnits, readUsageRecord } from './units.ts';

type Room = undefined | Promise<void>;

/** Reads an answer of the Responses API, streamed or whole. */
export function createResponsesReader(
	reply: ReplyBuilder,
	{ tools }: ModelRequest,
	{ ownCustomTools }: ResponsesDialect,
): ReplyReader {
	return new ResponsesReader(reply, tools, ownCustomTools);
}

class ResponsesReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	readonly #tools: ModelRequest['tools'];
	readonly #ownCustomTools: ResponsesDialect['ownCustomTools'];
	readonly #whole = new Map<CallKey, Json>();
	readonly #keys = new Map<string, CallKey>();
	/** The received text of each part of each item. */
	readonly #came = new Map<string, string>();
	#newestCall: CallKey | undefined;
	#refused = false;
	#pending: string | undefined;
	/** The response as it was last told, without its items. */
	#response: Json = {};
	#units: Units = {};

	constructor(reply: ReplyBuilder, tools: ModelRequest['tools'], ownCustomTools: ResponsesDialect['ownCustomTools']) {
		this.#reply = reply;
		this.#tools = tools;
		this.#ownCustomTools = ownCustomTools;
	}

	event(event: Json): Room {
		const delta = getString(event, 'delta') ?? '';
		const content = (): string => `${this.#getKey(event)} content ${getNumber(event, 'content_index') ?? 0}`;
		const summary = (): string => `${this.#getKey(event)} summary ${getNumber(event, 'summary_index') ?? 0}`;
		switch (event.type) {
			case 'response.created':
				return void this.#open(getObject(event, 'response'));
			case 'response.output_item.added': {
				const item = getObject(event, 'item');
				return this.#begin(this.#getKey(event, getString(item, 'id')), item);
			}
			case 'response.output_item.done': {
				const item = getObject(event, 'item');
				return this.#settle(this.#getKey(event, getString(item, 'id')), item);
			}
			case 'response.output_text.delta':
				return this.#text(content(), delta);
			case 'response.output_text.done':
				return this.#text(content(), this.#rest(content(), getString(event, 'text') ?? ''));
			case 'response.refusal.delta':
				this.#refused = true;
				return this.#text(content(), delta);
			case 'response.refusal.done':
				this.#refused = true;
				return this.#text(content(), this.#rest(content(), getString(event, 'refusal') ?? ''));
			case 'response.reasoning_summary_text.delta':
				return this.#thought(summary(), delta);
			case 'response.reasoning_summary_text.done':
				return this.#thought(summary(), this.#rest(summary(), getString(event, 'text') ?? ''));
			case 'response.reasoning_text.delta':
				return this.#thought(content(), delta);
			case 'response.reasoning_text.done':
				return this.#thought(content(), this.#rest(content(), getString(event, 'text') ?? ''));
			case 'response.function_call_arguments.delta':
				return this.#input(this.#getKey(event), delta, false);
			case 'response.custom_tool_call_input.delta':
				return this.#input(this.#getKey(event), delta, true);
			case 'response.function_call_arguments.done':
				return this.#input(
					this.#getKey(event),
					this.#rest(`${this.#getKey(event)} input`, getString(event, 'arguments') ?? ''),
					false,
				);
			case 'response.custom_tool_call_input.done':
				return this.#input(
					this.#getKey(event),
					this.#rest(`${this.#getKey(event)} input`, getString(event, 'input') ?? ''),
					true,
				);
			case 'response.completed':
				return this.#end(getObject(event, 'response'), 'completed');
			case 'response.incomplete':
				return this.#end(getObject(event, 'response'), 'incomplete');
			case 'response.failed':
			case 'response.cancelled':
				this.#open(getObject(event, 'response'));
				return this.#fail(getObject(event, 'response'));
			case 'error':
				throw new ProviderComplaint({ body: event });
			default:
				// The error of a gateway has no type.
				if (event.type === undefined && event.error) throw new ProviderComplaint({ body: event });
				return undefined;
		}
	}

	async body(body: Json): Promise<void> {
		const status = getString(body, 'status') ?? 'completed';
		this.#open(body, true);
		if (body.error || status === 'failed' || status === 'cancelled') this.#fail(body);
		if (this.#pending !== undefined) return;
		if (!Array.isArray(body.output)) throw new RunletError('interrupted', 'the answer is no response.');
		for (const [index, item] of getObjects(body, 'output').entries()) await this.#settle(index, item);
		this.#finish(body, status);
	}

	pending(): string | undefined {
		return this.#pending;
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
		this.#came.set(part, (this.#came.get(part) ?? '') + piece);
	}
	#text(part: string, piece: string): Room {
		this.#add(part, piece);
		return this.#reply.text(piece);
	}

	#thought(part: string, piece: string): Room {
		if (!this.#came.has(part)) this.#reply.newThought();
		this.#add(part, piece);
		return this.#reply.reasoning(piece);
	}

	#input(key: CallKey, piece: string, custom: boolean): Room {
		this.#add(`${key} input`, piece);
		// A custom tool takes text, which is passed on as a JSON string.
		return this.#reply.input(key, custom ? JSON.stringify(piece).slice(1, -1) : piece);
	}

	/**
	 * Returns the part of a text that the pieces did not bring. Empty if the pieces differ, because they were shown
	 * already.
	 */
	#rest(part: string, all: string): string {
		const had = this.#came.get(part) ?? '';
		return all.startsWith(had) ? all.slice(had.length) : '';
	}

	#begin(key: CallKey, item: Json): Room {
		if (!this.#isCall(item) || this.#reply.callId(key) !== undefined) return undefined;
		this.#newestCall = key;
		const { room } = this.#reply.startCall(key, getString(item, 'call_id'), getString(item, 'name') ?? '');
		return item.type === 'custom_tool_call' ? this.#reply.input(key, '"') : room;
	}

	#settle(key: CallKey, given: Json): Room {
		const item = this.#takeImages(given);
		this.#whole.set(key, item);
		let room = this.#begin(key, item);
		if (this.#isCall(item)) {
			const custom = item.type === 'custom_tool_call';
			const all = custom ? item.input : isRecord(item.arguments) ? toInputText(item.arguments) : item.arguments;
			if (typeof all === 'string') room = this.#input(key, this.#rest(`${key} input`, all), custom) ?? room;
			if (custom) room = this.#reply.input(key, '"') ?? room;
			return this.#reply.endCall(key) ?? room;
		}
		const call = readServerCall(item);
		if (call !== undefined) {
			room = this.#reply.providerCall(call) ?? room;
			this.#countUnits();
		}
		for (const [index, { text: all }] of getObjects(item, 'summary').entries()) {
			const part = `${key} summary ${index}`;
			if (typeof all === 'string') room = this.#thought(part, this.#rest(part, all)) ?? room;
		}
		for (const [index, content] of getObjects(item, 'content').entries()) {
			const part = `${key} content ${index}`;
			const all = this.#rest(part, readVisible(content));
			if (item.type === 'reasoning') room = this.#thought(part, all) ?? room;
			else if (item.type === 'message') room = this.#text(part, all) ?? room;
			this.#refused ||= content.type === 'refusal' && readVisible(content) !== '';
		}
		for (const source of listSources(item)) room = this.#reply.source(source) ?? room;
		return room;
	}

	/** Takes the images out of an item, which then names their files. */
	#takeImages(item: Json): Json {
		const { result, ...rest } = item;
		if (item.type === 'code_interpreter_call' && Array.isArray(item.outputs))
			return { ...item, outputs: getObjects(item, 'outputs').map((output) => this.#takePlot(output)) };
		if (item.type !== 'image_generation_call' || typeof result !== 'string' || result === '') return item;
		const format = getString(item, 'output_format') ?? 'png';
		return { ...rest, file: this.#reply.image(format === 'svg' ? 'image/svg+xml' : `image/${format}`, result) };
	}

	/** Takes the image that a program made. */
	#takePlot(output: Json): Json {
		const [, mime, data] = /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(getString(output, 'url') ?? '') ?? [];
		return mime === undefined || data === undefined ? output : { type: 'image', file: this.#reply.image(mime, data) };
	}

	/** @param isWhole whether it came without a stream. One that goes on then does so in the background */
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

	/** Counts what is billed besides tokens so far, because a response that breaks off bills it too. */
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
				if (!this.#isCall(item)) return toSmall(item);
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

	#end(response: Json, status: string): Room {
		this.#open(response);
		let room: Room;
		const output = getObjects(response, 'output');
		if (this.#whole.size < output.length) {
			for (const [index, item] of output.entries()) {
				const key = this.#keys.get(getString(item, 'id') ?? '') ?? index;
				if (!this.#whole.has(key)) room = this.#settle(key, item) ?? room;
			}
		}
		this.#finish(response, status);
		return room;
	}
}

/** Tiers at the usual price. */
const usualTiers: ReadonlySet<string> = new Set(['default', 'auto', 'standard']);

/** Returns why a reply is incomplete, or `undefined` if it is complete. */
function findCut(status: string, reason = 'max_output_tokens'): string | undefined {
	if (status !== 'incomplete') return undefined;
	if (reason === 'content_filter') return 'refusal';
	return reason === 'max_output_tokens' ? 'max_tokens' : reason;
}
