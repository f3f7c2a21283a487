import { dropUndefined } from '../../base/json.ts';
import { type ChatReply, type ChatUsage, makeUsage, type OnDelta, type StopReason } from '../../chat/index.ts';
import { createSource, cutData, type ProviderCall, type Source } from '../../chat/provider-tool.ts';
import { claimId, createMadeImage, type MadeImage } from '../../chat/reply.ts';
import { parseToolInput } from '../../tool/call.ts';
import type { ToolCall } from '../../tool/index.ts';
import type { Json } from './json.ts';
import { readTokenUnits } from './units.ts';

/** The key of a call within a reply: an index or an id. */
export type CallKey = string | number;

/** The terms that a reply was billed at, if they differ from the usual terms. */
export type Terms = Pick<ChatUsage, 'serviceTier' | 'speed' | 'region'>;

export interface Ending {
	/** Runlet's name of the stop reason. Without `isExact`, a normal end of a turn with calls becomes `tool_use`. */
	readonly reason: StopReason;
	/** Whether the provider itself distinguishes a turn that ends with calls. */
	readonly isExact?: boolean;
	/** The provider's own data: its stop reason, its model, the id of the answer. */
	readonly raw: Json;
	/** Data that the provider wants back. Missing if the text and the calls contain everything. */
	readonly metadata?: unknown;
	/** Whether the last call was cut off, which the call's JSON does not always show. */
	readonly lastCallCut?: boolean;
}

interface Call {
	readonly id: string;
	readonly name: string;
	readonly pieces: string[];
	isOpen: boolean;
}

/** Builds a reply from its pieces and emits them as deltas. Streamed and whole answers give the same reply. */
export class ReplyBuilder {
	readonly #emit: (delta: Parameters<OnDelta>[0]) => void;
	readonly #provider: string;
	readonly #model: string;
	readonly #names: ReadonlyMap<string, string>;
	/** The calls in order, the newest call under each key, and the used ids. */
	readonly #calls = { all: [] as Call[], byKey: new Map<CallKey, Call>(), ids: new Set<string>() };
	readonly #texts: string[] = [];
	readonly #thoughts: string[] = [];
	/** The provider's own calls, the sources and the images, by id or name. */
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
	constructor(
		emit: (delta: Parameters<OnDelta>[0]) => void,
		provider: string,
		model: string,
		names: ReadonlyMap<string, string> = new Map(),
	) {
		this.#emit = emit;
		this.#provider = provider;
		this.#model = model;
		this.#names = names;
	}

	text(piece: string): void {
		if (piece === '') return;
		this.#texts.push(piece);
		this.#emit({ type: 'text', text: piece });
	}

	/** Adds a piece of the model's visible thinking. */
	reasoning(piece: string): void {
		if (piece === '') return;
		const text = this.#beginsThought && this.#thoughts.length > 0 ? `\n\n${piece}` : piece;
		this.#beginsThought = false;
		this.#thoughts.push(text);
		this.#emit({ type: 'reasoning', text });
	}

	/** Starts a new paragraph of thinking. */
	newThought(): void {
		this.#beginsThought = true;
	}

	/** Starts a call. Creates a missing id, and adds a suffix to a repeated id. Returns the id. */
	startCall(key: CallKey, wireId: string | undefined, alias: string): string {
		const name = this.#names.get(alias) ?? alias;
		this.endCall(key);
		const id = claimId(this.#calls.ids, wireId || `call_${crypto.randomUUID()}`);
		const call: Call = { id, name, pieces: [], isOpen: true };
		this.#calls.all.push(call);
		this.#calls.byKey.set(key, call);
		this.#emit({ type: 'tool_use_start', id, name });
		return id;
	}

	callId(key: CallKey): string | undefined {
		return this.#calls.byKey.get(key)?.id;
	}

	input(key: CallKey, piece: string): void {
		const call = this.#calls.byKey.get(key);
		if (call === undefined || piece === '') return;
		call.pieces.push(piece);
		this.#emit({ type: 'tool_use_input', id: call.id, partialInputJson: piece });
	}

	endCall(key: CallKey): void {
		const call = this.#calls.byKey.get(key);
		if (call !== undefined) this.#end(call);
	}

	hasInput(key: CallKey): boolean {
		return (this.#calls.byKey.get(key)?.pieces.length ?? 0) > 0;
	}

	/** Sets the model that answers, as the provider names it. `claude-x` may be answered by `claude-x-20250929`. */
	setModel(name: string | undefined): void {
		this.#answeredBy = name ?? this.#answeredBy;
	}

	getModel(): string | undefined {
		return this.#answeredBy;
	}

	/** Adds a call that the provider runs itself, or the output of such a call. */
	providerCall(added: ProviderCall): void {
		const known = this.#work.calls.get(added.id);
		const { id, input = known?.input, output, isError } = added;
		const call: ProviderCall = dropUndefined({
			id,
			name: known?.name ?? added.name,
			input: cutData(input),
			output: cutData(output),
			isError: isError || undefined,
		});
		this.#work.calls.set(call.id, call);
		this.#emit({ type: 'provider_tool', ...call });
	}

	/** Adds a source of the text. Adds each source only once. */
	source(fields: Omit<Source, 'id'>): void {
		const source = createSource(fields);
		if (this.#work.sources.has(source.id)) return;
		this.#work.sources.set(source.id, source);
		this.#emit({ type: 'source', ...source });
	}

	/** Adds an image that the model made, from base64. Returns the name by which the image is sent back. */
	image(mime: string, data: string): string {
		const image = createMadeImage(mime, data);
		this.#work.images.set(image.name, image);
		return image.name;
	}

	usage(raw: Json): void {
		this.#billed.raw = raw;
	}

	/** Sets the number of billed units so far, such as `web_searches`. */
	count(unit: string, total: number): void {
		if (total > 0) this.#billed.units[unit] = total;
		else delete this.#billed.units[unit];
	}

	bill(terms: Terms): void {
		this.#billed.terms = { ...this.#billed.terms, ...terms };
	}

	/** Called at the terminal event. */
	finish(ending: Ending): void {
		this.#ending ??= ending;
	}

	isFinished(): boolean {
		return this.#ending !== undefined;
	}

	usageSoFar(): { readonly raw: Json; readonly usage: ChatUsage } {
		const units = { ...readTokenUnits(this.#billed.raw), ...this.#billed.units };
		// The adapter reads these fields itself, because they have other meanings for each provider.
		const { units: _, serviceTier: __, speed: ___, region: ____, unpriced: _____, ...counts } = this.#billed.raw;
		const usage = {
			...makeUsage(counts, this.#provider, this.#model),
			...this.#billed.terms,
			...(Object.keys(units).length > 0 && { units }),
		};
		return { raw: this.#billed.raw, usage };
	}

	/** Ends open calls, emits `stop`, and returns the reply. */
	close(usage: ChatUsage): ChatReply {
		const ending: Ending = this.#ending ?? { reason: 'end_turn', raw: {} };
		const { metadata, lastCallCut = false, raw } = ending;
		const { all } = this.#calls;
		const isCut = (call: Call, at: number): boolean =>
			(lastCallCut && at === all.length - 1) || call.pieces.length === 0 || typeof toToolCall(call).input === 'string';
		const whole = ending.reason === 'max_tokens' ? all.filter((call, at) => !isCut(call, at)) : all;
		const isTurnOfCalls = ending.reason === 'end_turn' && whole.length > 0 && !ending.isExact;
		const reason = isTurnOfCalls ? 'tool_use' : ending.reason;
		for (const call of all) this.#end(call);
		this.#emit({ type: 'stop', reason, usage });
		return {
			text: this.#texts.join(''),
			toolCalls: whole.map(toToolCall),
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

	#end(call: Call): void {
		if (!call.isOpen) return;
		call.isOpen = false;
		this.#emit({ type: 'tool_use_end', id: call.id });
	}
}

function toToolCall({ id, name, pieces }: Call): ToolCall {
	return { id, name, input: parseToolInput(pieces.join('')) };
}
