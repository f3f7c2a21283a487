import { RunletError } from '../../../base/errors.ts';
import { isRecord, isTooDeep } from '../../../base/json.ts';
import { toInputText } from '../../../tool/call.ts';
import type { ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { ReplyBuilder, Terms } from '../../adapter/reply.ts';
import { readCitation, readServerCall, readServerResult } from './server-calls.ts';

/** A content block that is being streamed: its fields, and by field the pieces so far. */
interface OpenBlock {
	readonly start: Json;
	readonly pieces: Map<string, string[]>;
	readonly citations: Json[];
	/** The pieces of the input of a server tool. */
	readonly inputs: string[];
	/** The final id of the call of a client tool. */
	readonly callId: string | undefined;
}

type Room = undefined | Promise<void>;

/** Reads an answer of the Messages API, streamed or whole. */
export function createMessagesReader(reply: ReplyBuilder): ReplyReader {
	return new MessagesReader(reply);
}

class MessagesReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	readonly #began = Date.now();
	readonly #blocks = new Map<number, OpenBlock>();
	readonly #uses = new Map<string, number>();
	#message: Json = {};
	#usage: Json = {};
	#ending: Json = {};

	constructor(reply: ReplyBuilder) {
		this.#reply = reply;
	}

	event(event: Json): Room {
		const index = getNumber(event, 'index') ?? 0;
		switch (event.type) {
			case 'message_start':
				return this.#open(getObject(event, 'message'));
			case 'content_block_start':
				return this.#begin(index, getObject(event, 'content_block'));
			case 'content_block_delta':
				return this.#go(index, getObject(event, 'delta'));
			case 'content_block_stop':
				return this.#end(index);
			case 'message_delta':
				this.#ending = { ...this.#ending, ...getObject(event, 'delta') };
				return void this.#toUsage(getObject(event, 'usage'));
			case 'message_stop':
				return void this.#finish();
			case 'error':
				throw new ProviderComplaint({ body: event });
			default:
				return undefined;
		}
	}

	async body(body: Json): Promise<void> {
		if (body.type === 'error') throw new ProviderComplaint({ body });
		if (!Array.isArray(body.content)) throw new RunletError('interrupted', 'the answer is no message.');
		await this.#open(body);
		this.#finish();
	}

	#begin(index: number, start: Json): Room {
		const type = getString(start, 'type');
		let callId: string | undefined;
		let room: Room;
		if (type === 'tool_use') {
			({ id: callId, room } = this.#reply.startCall(index, getString(start, 'id'), getString(start, 'name') ?? ''));
		} else if (type === 'thinking') {
			this.#reply.newThought();
			room = this.#reply.reasoning(getString(start, 'thinking') ?? '');
		} else if (type === 'text') {
			room = this.#reply.text(getString(start, 'text') ?? '');
		} else if (type === 'server_tool_use') this.#countUse(getString(start, 'name') ?? '');
		else {
			const result = readServerResult(start);
			if (result !== undefined) room = this.#reply.providerCall(result);
		}
		this.#blocks.set(index, { start, callId, pieces: new Map(), citations: [], inputs: [] });
		return room;
	}

	/** Counts a use of a server tool as it begins. The usage at the end of the message replaces the count. */
	#countUse(name: string): void {
		if (name.includes('code_execution')) this.#reply.count('container_minutes', leastContainerMinutes);
		const unit = unitNames[`${name}_requests`];
		if (unit === undefined) return;
		const uses = (this.#uses.get(unit) ?? 0) + 1;
		this.#uses.set(unit, uses);
		this.#reply.count(unit, uses);
	}

	#go(index: number, delta: Json): Room {
		const block = this.#blocks.get(index);
		if (block === undefined) return undefined;
		const json = getString(delta, 'partial_json');
		if (json !== undefined) {
			if (block.callId !== undefined) return this.#reply.input(index, json);
			block.inputs.push(json);
			return undefined;
		}
		if (isRecord(delta.citation)) block.citations.push(delta.citation);
		const cited = isRecord(delta.citation) ? readCitation(delta.citation) : undefined;
		if (cited !== undefined) return this.#reply.source(cited);
		// A delta names the field that it continues, including fields of unknown kinds.
		for (const [field, piece] of Object.entries(delta)) {
			if (field === 'type' || typeof piece !== 'string') continue;
			const pieces = block.pieces.get(field);
			if (pieces === undefined) block.pieces.set(field, [getString(block.start, field) ?? '', piece]);
			else pieces.push(piece);
		}
		if (delta.type === 'text_delta') return this.#reply.text(getString(delta, 'text') ?? '');
		return delta.type === 'thinking_delta' ? this.#reply.reasoning(getString(delta, 'thinking') ?? '') : undefined;
	}

	#end(index: number): Room {
		const block = this.#blocks.get(index);
		if (block === undefined) return undefined;
		if (block.callId === undefined) return this.#endServerBlock(block);
		// A call that a program wrote has its arguments in the start of the block, without deltas.
		const given = getObject(block.start, 'input');
		const room =
			this.#reply.inputLength(index) === 0 && Object.keys(given).length > 0
				? this.#reply.input(index, toInputText(given))
				: undefined;
		return this.#reply.endCall(index) ?? room;
	}

	/** Shows a call of a server tool, or the sources of a text that came whole. */
	#endServerBlock({ start, inputs }: OpenBlock): Room {
		const input = inputs.length > 0 ? parseInput(inputs.join('')) : start.input;
		const call = readServerCall(start, input);
		let room = call && this.#reply.providerCall(call);
		for (const citation of getObjects(start, 'citations')) {
			const cited = readCitation(citation);
			if (cited !== undefined) room = this.#reply.source(cited) ?? room;
		}
		return room;
	}

	#toUsage(more: Json): void {
		this.#usage = { ...this.#usage, ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== null)) };
		this.#reply.usage(sumUsage(this.#usage));
		for (const [name, count] of Object.entries(getObject(this.#usage, 'server_tool_use')))
			if (typeof count === 'number') this.#reply.count(unitNames[name] ?? name, count);
		this.#reply.bill(readTerms(this.#usage));
	}

	#finish(): void {
		const content = [...this.#blocks.values()].map(toWholeBlock);
		if (content.some(isExecution)) {
			const minutes = Math.max(leastContainerMinutes, Math.ceil((Date.now() - this.#began) / 60_000));
			this.#reply.count('container_minutes', hasWebUse(this.#usage) ? 0 : minutes);
		}
		const container = getString(getObject(this.#ending, 'container'), 'id');
		const plain = content.every(isPlain) && container === undefined;
		this.#reply.finish({
			reason: toStopReason(getString(this.#ending, 'stop_reason')),
			isExact: true,
			raw: { id: this.#message.id, model: this.#message.model, ...this.#ending },
			metadata: plain || content.length === 0 ? undefined : { content, container },
			lastCallCut: content.at(-1)?.type === 'tool_use',
		});
	}

	/** Reads the start of a message, or a whole one. Both may already hold blocks and a stop reason. */
	async #open(from: Json): Promise<void> {
		this.#message = from;
		this.#reply.setModel(getString(from, 'model'));
		this.#toUsage(getObject(from, 'usage'));
		for (const [at, block] of getObjects(from, 'content').entries()) {
			// Negative, so that it differs from the indices of streamed blocks.
			const index = -1 - at;
			await this.#begin(index, block);
			await this.#end(index);
		}
		// A whole message counts its searches better than its blocks do.
		this.#toUsage({});
		for (const key of ['stop_reason', 'stop_sequence', 'stop_details', 'container']) {
			if (from[key] !== undefined) this.#ending = { ...this.#ending, [key]: from[key] };
		}
	}
}

/** Runlet's names for what Anthropic counts. */
const unitNames: Readonly<Record<string, string>> = {
	web_search_requests: 'web_searches',
	web_fetch_requests: 'web_fetches',
	tool_search_requests: 'tool_searches',
};

/** A container is billed for at least five minutes (platform.claude.com/docs/en/about-claude/pricing). */
const leastContainerMinutes = 5;

function isExecution({ type, name }: Json): boolean {
	return type === 'server_tool_use' && typeof name === 'string' && name.includes('code_execution');
}

/** With web search or web fetch, running code is free. */
function hasWebUse(usage: Json): boolean {
	const counts = getObject(usage, 'server_tool_use');
	return Boolean(getNumber(counts, 'web_search_requests')) || Boolean(getNumber(counts, 'web_fetch_requests'));
}

/** Reads the terms that differ from the usual ones. A commitment to the priority tier has no price list. */
function readTerms(usage: Json): Terms {
	const tier = getString(usage, 'service_tier');
	const geo = getString(usage, 'inference_geo');
	return {
		...(tier === 'batch' && { serviceTier: tier }),
		...(usage.speed === 'fast' && { speed: 'fast' }),
		...(geo !== undefined && !['global', 'not_available', ''].includes(geo) && { region: geo }),
	};
}

/** Converts a block to the form that is sent back. The arguments of a call stay in the message's `toolCalls`. */
function toWholeBlock({ start, pieces, citations, inputs, callId }: OpenBlock): Json {
	const fields = Object.fromEntries([...pieces].map(([field, all]) => [field, all.join('')]));
	const { input, ...rest } = start;
	if (callId !== undefined) return { ...rest, id: callId };
	return {
		...start,
		...fields,
		...(citations.length > 0 && { citations }),
		...(inputs.length > 0 && { input: parseInput(inputs.join('')) }),
	};
}

/** Whether a block can be rebuilt from a message's text and calls. */
function isPlain(block: Json): boolean {
	if (block.type === 'text') return !Array.isArray(block.citations) || block.citations.length === 0;
	const direct = getObject(block, 'caller').type === 'direct';
	return (
		block.type === 'tool_use' &&
		Object.keys(block).every((key) => ['type', 'id', 'name'].includes(key) || (key === 'caller' && direct))
	);
}

function parseInput(json: string): unknown {
	try {
		const input: unknown = JSON.parse(json);
		return isTooDeep(input) ? {} : input;
	} catch {
		return {};
	}
}

/** Adds the counts of all iterations, if the server ran the model several times for one answer. */
function sumUsage(usage: Json): Json {
	const runs = getObjects(usage, 'iterations');
	if (runs.length === 0) return usage;
	const sum = (key: string): number => runs.reduce((total, run) => total + (getNumber(run, key) ?? 0), 0);
	const keys = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
	const counted = keys.filter((key) => runs.some((run) => getNumber(run, key) !== undefined));
	const written = runs.map((run) => getObject(run, 'cache_creation'));
	const ttls = [...new Set(written.flatMap(Object.keys))];
	const cache_creation = Object.fromEntries(
		ttls.map((ttl) => [ttl, written.reduce((total, one) => total + (getNumber(one, ttl) ?? 0), 0)]),
	);
	return {
		...usage,
		...(ttls.length > 0 && { cache_creation }),
		...Object.fromEntries(counted.map((key) => [key, sum(key)])),
	};
}

function toStopReason(reason: string | undefined): string {
	if (reason === 'model_context_window_exceeded') return 'max_tokens';
	return reason ?? 'end_turn';
}
