import { type ChatReply, type ChatUsage, makeUsage, type OnDelta, type StopReason } from '../../chat/index.ts';
import { createSource, cutData, type ProviderCall, type Source } from '../../chat/provider-tool.ts';
import { createMadeImage, type MadeImage } from '../../chat/reply.ts';
import { parseToolInput } from '../../tool/call.ts';
import type { ToolCall } from '../../tool/index.ts';
import type { Json } from './json.ts';
import { readTokenUnits } from './units.ts';

type Room = undefined | Promise<void>;

/** The key of a call within a reply: an index or an id. */
export type CallKey = string | number;

/** The terms that a reply was billed at, if they differ from the usual ones. */
export type Terms = Pick<ChatUsage, 'serviceTier' | 'speed' | 'region'>;

/** The end of a reply. */
export interface Ending {
	/** The stop reason in Runlet's words. A turn with calls that ends normally becomes `tool_use`, unless `isExact`. */
	readonly reason: StopReason;
	/** Whether the provider itself distinguishes a turn that ends with calls. */
	readonly isExact?: boolean;
	/** The provider's own data: its stop reason, its model, the id of the answer. */
	readonly raw: Json;
	/** Data that the provider wants back. Missing if text and calls are enough. */
	readonly metadata?: unknown;
	/** Whether the last call was cut off, if its JSON does not show it. */
	readonly lastCallCut?: boolean;
}

interface Call {
	readonly id: string;
	readonly name: string;
	readonly pieces: string[];
	length: number;
	open: boolean;
}

/** The calls of one reply in order. */
class CallList {
	readonly all: Call[] = [];
	readonly #byKey = new Map<CallKey, Call>();
	readonly #ids = new Set<string>();

	start(key: CallKey, given: string | undefined, name: string): Call {
		const call: Call = { id: this.#chooseId(given), name, pieces: [], length: 0, open: true };
		this.all.push(call);
		this.#byKey.set(key, call);
		return call;
	}

	/** Returns the newest call under a key. */
	get(key: CallKey): Call | undefined {
		return this.#byKey.get(key);
	}

	#chooseId(given: string | undefined): string {
		const base = given || `call_${crypto.randomUUID()}`;
		let id = base;
		for (let again = 2; this.#ids.has(id); again++) id = `${base}_${again}`;
		this.#ids.add(id);
		return id;
	}
}

/**
 * Builds a reply from its pieces in O(n) and emits them as deltas. Streamed and whole answers go through the same code,
 * so both give the same reply.
 */
export class ReplyBuilder {
	readonly #onDelta: OnDelta;
	readonly #provider: string;
	readonly #model: string;
	readonly #names: ReadonlyMap<string, string>;
	readonly #calls = new CallList();
	readonly #texts: string[] = [];
	readonly #thoughts: string[] = [];
	/** What the provider did for the reply, by id. */
	readonly #work = {
		calls: new Map<string, ProviderCall>(),
		sources: new Map<string, Source>(),
		images: new Map<string, MadeImage>(),
	};
	#beginsThought = false;
	#answeredBy: string | undefined;
	/** The provider's usage record so far, the units and the terms. */
	readonly #billed: { raw: Json; readonly units: Record<string, number>; terms: Terms } = {
		raw: {},
		units: {},
		terms: {},
	};
	#ending: Ending | undefined;

	/** @param names the tools' own names by their aliases, where they differ */
	constructor(onDelta: OnDelta, provider: string, model: string, names: ReadonlyMap<string, string> = new Map()) {
		this.#onDelta = onDelta;
		this.#provider = provider;
		this.#model = model;
		this.#names = names;
	}

	text(piece: string): Room {
		if (piece === '') return undefined;
		this.#texts.push(piece);
		return this.#onDelta({ type: 'text', text: piece });
	}

	/** Adds a piece of the model's visible thinking. */
	reasoning(piece: string): Room {
		if (piece === '') return undefined;
		const text = this.#beginsThought && this.#thoughts.length > 0 ? `\n\n${piece}` : piece;
		this.#beginsThought = false;
		this.#thoughts.push(text);
		return this.#onDelta({ type: 'reasoning', text });
	}

	/** Starts a new paragraph of thinking. */
	newThought(): void {
		this.#beginsThought = true;
	}

	/** Starts a call. Creates a missing id, and adds a suffix to a repeated one. Returns the id. */
	startCall(key: CallKey, given: string | undefined, alias: string): { readonly id: string; readonly room: Room } {
		const name = this.#names.get(alias) ?? alias;
		const ended = this.endCall(key);
		const { id } = this.#calls.start(key, given, name);
		const started = this.#onDelta({ type: 'tool_use_start', id, name });
		return { id, room: started ?? ended };
	}

	/** Returns the id of the newest call under a key. */
	callId(key: CallKey): string | undefined {
		return this.#calls.get(key)?.id;
	}

	/** Adds a piece of a call's arguments as JSON. */
	input(key: CallKey, piece: string): Room {
		const call = this.#calls.get(key);
		if (call === undefined || piece === '') return undefined;
		call.pieces.push(piece);
		call.length += piece.length;
		return this.#onDelta({ type: 'tool_use_input', id: call.id, partialInputJson: piece });
	}

	endCall(key: CallKey): Room {
		return this.#end(this.#calls.get(key));
	}

	/** Returns the length of a call's arguments so far in characters. */
	inputLength(key: CallKey): number {
		return this.#calls.get(key)?.length ?? 0;
	}

	/** Sets the model that answers, as the provider names it. `claude-x` may be answered by `claude-x-20250929`. */
	setModel(name: string | undefined): void {
		this.#answeredBy = name ?? this.#answeredBy;
	}

	getModel(): string | undefined {
		return this.#answeredBy;
	}

	/** Adds a call that the provider runs itself, or its output to one that was added. */
	providerCall(given: ProviderCall): Room {
		const known = this.#work.calls.get(given.id);
		const { input = known?.input, output, isError } = given;
		const call: ProviderCall = {
			id: given.id,
			name: known?.name ?? given.name,
			...(input !== undefined && { input: cutData(input) }),
			...(output !== undefined && { output: cutData(output) }),
			...(isError === true && { isError }),
		};
		this.#work.calls.set(call.id, call);
		return this.#onDelta({ type: 'provider_tool', ...call });
	}

	/** Adds a source of the text. One that was added before changes nothing. */
	source(fields: Omit<Source, 'id'>): Room {
		const source = createSource(fields);
		if (this.#work.sources.has(source.id)) return undefined;
		this.#work.sources.set(source.id, source);
		return this.#onDelta({ type: 'source', ...source });
	}

	/** Adds an image that the model made, from base64. Returns its name, by which it is sent back. */
	image(mime: string, data: string): string {
		const image = createMadeImage(mime, data);
		this.#work.images.set(image.name, image);
		return image.name;
	}

	/** Sets the provider's usage record so far. A later one replaces it. */
	usage(raw: Json): void {
		this.#billed.raw = raw;
	}

	/** Sets how many of a unit were billed so far, such as `web_searches`. */
	count(unit: string, total: number): void {
		if (total > 0) this.#billed.units[unit] = total;
		else delete this.#billed.units[unit];
	}

	/** Sets the terms that the reply was billed at. */
	bill(terms: Terms): void {
		this.#billed.terms = { ...this.#billed.terms, ...terms };
	}

	/** Called at the terminal event. */
	finish(how: Ending): void {
		this.#ending ??= how;
	}

	isFinished(): boolean {
		return this.#ending !== undefined;
	}

	/** Returns the calls so far. */
	calls(): readonly ToolCall[] {
		return this.#calls.all.map(toolCall);
	}

	usageSoFar(): { readonly raw: Json; readonly usage: ChatUsage } {
		const units = { ...readTokenUnits(this.#billed.raw), ...this.#billed.units };
		// Providers have fields of these names, too, with words of their own: the adapter reads them.
		const { units: _, serviceTier: __, speed: ___, region: ____, unpriced: _____, ...counts } = this.#billed.raw;
		const usage = {
			...makeUsage(counts, this.#provider, this.#model),
			...this.#billed.terms,
			...(Object.keys(units).length > 0 && { units }),
		};
		return { raw: this.#billed.raw, usage };
	}

	/** Ends open parts, emits `stop`, and returns the reply. */
	async close(usage: ChatUsage): Promise<ChatReply> {
		const ending: Ending = this.#ending ?? { reason: 'end_turn', raw: {} };
		const { metadata, lastCallCut = false, raw } = ending;
		const { all } = this.#calls;
		const isWhole = (call: Call, at: number) => !isCut(call, lastCallCut && at === all.length - 1);
		const whole = ending.reason === 'max_tokens' ? all.filter(isWhole) : all;
		const isTurnOfCalls = ending.reason === 'end_turn' && whole.length > 0 && !ending.isExact;
		const reason = isTurnOfCalls ? 'tool_use' : ending.reason;
		for (const call of all) await this.#end(call);
		await this.#onDelta({ type: 'stop', reason, usage });
		return {
			text: this.#texts.join(''),
			toolCalls: whole.map(toolCall),
			stopReason: reason,
			usage,
			...(this.#thoughts.length > 0 && { reasoning: this.#thoughts.join('') }),
			...(this.#work.calls.size > 0 && { providerCalls: [...this.#work.calls.values()] }),
			...(this.#work.sources.size > 0 && { sources: [...this.#work.sources.values()] }),
			...(this.#work.images.size > 0 && { images: [...this.#work.images.values()] }),
			...(metadata !== undefined && { providerMetadata: { [this.#provider]: metadata } }),
			raw,
		};
	}

	#end(call: Call | undefined): Room {
		if (call === undefined || !call.open) return undefined;
		call.open = false;
		return this.#onDelta({ type: 'tool_use_end', id: call.id });
	}
}

function toolCall({ id, name, pieces }: Call): ToolCall {
	const json = pieces.join('');
	// Joined once: the next caller finds a single piece.
	pieces.splice(0, pieces.length, json);
	return { id, name, input: parseToolInput(json) };
}

function isCut(call: Call, known: boolean): boolean {
	return known || call.pieces.length === 0 || typeof toolCall(call).input === 'string';
}
