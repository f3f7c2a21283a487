import { RunletError } from '../../../base/errors.ts';
import { isRecord, isTooDeep } from '../../../base/json.ts';
import { toInputText } from '../../../tool/call.ts';
import type { ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json, readJson } from '../../adapter/json.ts';
import type { ReplyBuilder, Terms } from '../../adapter/reply.ts';
import { readCitation, readServerCall, readServerResult } from './provider-tools.ts';

interface OpenBlock {
	readonly start: Json;
	/** The texts so far, by field. */
	readonly texts: Map<string, string>;
	readonly citations: Json[];
	/** The pieces of the input of a server tool. */
	readonly inputs: string[];
	/** The final id of the call of a client tool. */
	readonly callId: string | undefined;
}

/** Reads an answer of the Messages API, streamed or whole. */
export class MessagesReader implements ReplyReader {
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

	event(event: Json): void {
		const { type } = event;
		const index = getNumber(event, 'index') ?? 0;
		if (type === 'message_start') this.#open(getObject(event, 'message'));
		else if (type === 'content_block_start') this.#begin(index, getObject(event, 'content_block'));
		else if (type === 'content_block_delta') this.#addDelta(index, getObject(event, 'delta'));
		else if (type === 'content_block_stop') this.#end(index);
		else if (type === 'message_delta') {
			this.#ending = { ...this.#ending, ...getObject(event, 'delta') };
			this.#addUsage(getObject(event, 'usage'));
		} else if (type === 'message_stop') this.#finish();
		else if (type === 'error') throw new ProviderComplaint({ body: event });
	}

	body(body: Json): void {
		if (body.type === 'error') throw new ProviderComplaint({ body });
		if (!Array.isArray(body.content)) throw new RunletError('interrupted', 'the answer is no message.');
		this.#open(body);
		this.#finish();
	}

	#begin(index: number, start: Json): void {
		const type = getString(start, 'type');
		const name = getString(start, 'name') ?? '';
		const callId = type === 'tool_use' ? this.#reply.startCall(index, getString(start, 'id'), name) : undefined;
		if (type === 'thinking') {
			this.#reply.newThought();
			this.#reply.reasoning(getString(start, 'thinking') ?? '');
		} else if (type === 'text') this.#reply.text(getString(start, 'text') ?? '');
		else if (type === 'server_tool_use') this.#countUse(name);
		else {
			const result = readServerResult(start);
			if (result !== undefined) this.#reply.providerCall(result);
		}
		this.#blocks.set(index, { start, callId, texts: new Map(), citations: [], inputs: [] });
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

	#addDelta(index: number, delta: Json): void {
		const block = this.#blocks.get(index);
		if (block === undefined) return;
		const json = getString(delta, 'partial_json');
		if (json !== undefined) {
			if (block.callId !== undefined) this.#reply.input(index, json);
			else block.inputs.push(json);
			return;
		}
		if (isRecord(delta.citation)) {
			block.citations.push(delta.citation);
			this.#addSource(delta.citation);
		}
		// A delta names the field that it continues, even if the field is unknown.
		for (const [field, piece] of Object.entries(delta)) {
			if (field === 'type' || typeof piece !== 'string') continue;
			block.texts.set(field, (block.texts.get(field) ?? getString(block.start, field) ?? '') + piece);
		}
		if (delta.type === 'text_delta') this.#reply.text(getString(delta, 'text') ?? '');
		if (delta.type === 'thinking_delta') this.#reply.reasoning(getString(delta, 'thinking') ?? '');
	}

	#end(index: number): void {
		const block = this.#blocks.get(index);
		if (block === undefined) return;
		if (block.callId === undefined) this.#endServerBlock(block);
		else {
			// If a program wrote the call, the arguments are in the start of the block, and no deltas follow.
			const input = getObject(block.start, 'input');
			if (!this.#reply.hasInput(index) && Object.keys(input).length > 0) this.#reply.input(index, toInputText(input));
			this.#reply.endCall(index);
		}
	}

	/** Shows a call of a server tool, or the sources of a whole text. */
	#endServerBlock({ start, inputs }: OpenBlock): void {
		const input = inputs.length > 0 ? parseInput(inputs.join('')) : start.input;
		const call = readServerCall(start, input);
		if (call !== undefined) this.#reply.providerCall(call);
		for (const citation of getObjects(start, 'citations')) this.#addSource(citation);
	}

	#addSource(citation: Json): void {
		const source = readCitation(citation);
		if (source !== undefined) this.#reply.source(source);
	}

	#addUsage(more: Json): void {
		this.#usage = { ...this.#usage, ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== null)) };
		this.#reply.usage(sumUsage(this.#usage));
		for (const [name, count] of Object.entries(getObject(this.#usage, 'server_tool_use')))
			if (typeof count === 'number') this.#reply.count(unitNames[name] ?? name, count);
		this.#reply.bill(readTerms(this.#usage));
	}

	#finish(): void {
		const content = [...this.#blocks.values()].map(toWholeBlock);
		if (content.some(({ type, name }) => type === 'server_tool_use' && /code_execution/.test(`${name}`))) {
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

	/** Reads the start of a message, or a whole message. Both may hold blocks and a stop reason. */
	#open(from: Json): void {
		this.#message = from;
		this.#reply.setModel(getString(from, 'model'));
		this.#addUsage(getObject(from, 'usage'));
		for (const [at, block] of getObjects(from, 'content').entries()) {
			// A negative index differs from the indices of streamed blocks.
			const index = -1 - at;
			this.#begin(index, block);
			this.#end(index);
		}
		// The usage of a whole message replaces the counts of its blocks.
		this.#addUsage({});
		for (const key of ['stop_reason', 'stop_sequence', 'stop_details', 'container']) {
			if (from[key] !== undefined) this.#ending = { ...this.#ending, [key]: from[key] };
		}
	}
}

/** Runlet's names for the units that Anthropic counts. */
const unitNames: Readonly<Record<string, string>> = {
	web_search_requests: 'web_searches',
	web_fetch_requests: 'web_fetches',
	tool_search_requests: 'tool_searches',
};

/** A container is billed for at least five minutes (platform.claude.com/docs/en/about-claude/pricing). */
const leastContainerMinutes = 5;

/** Whether the reply used web search or web fetch. If so, running code is free. */
function hasWebUse(usage: Json): boolean {
	const counts = getObject(usage, 'server_tool_use');
	return Boolean(getNumber(counts, 'web_search_requests')) || Boolean(getNumber(counts, 'web_fetch_requests'));
}

/** Reads the terms that differ from the usual terms. A commitment to the priority tier has no price list. */
function readTerms(usage: Json): Terms {
	const tier = getString(usage, 'service_tier');
	const geo = getString(usage, 'inference_geo');
	return {
		...(tier === 'batch' && { serviceTier: tier }),
		...(usage.speed === 'fast' && { speed: 'fast' }),
		...(geo !== undefined && !['global', 'not_available', ''].includes(geo) && { region: geo }),
	};
}

/** Converts a block to the form to send back. The arguments of a call stay in the message's `toolCalls`. */
function toWholeBlock({ start, texts, citations, inputs, callId }: OpenBlock): Json {
	const { input, ...rest } = start;
	if (callId !== undefined) return { ...rest, id: callId };
	return {
		...start,
		...Object.fromEntries(texts),
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
	const input = readJson(json);
	return input === undefined || isTooDeep(input) ? {} : input;
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
		ttls.map((ttl) => [ttl, written.reduce((total, counts) => total + (getNumber(counts, ttl) ?? 0), 0)]),
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
