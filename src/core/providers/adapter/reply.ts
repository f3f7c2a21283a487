import { type ChatReply, type ChatUsage, makeUsage, type OnDelta, type StopReason } from '../../chat/index.ts';
import type { ToolCall } from '../../tool/index.ts';
import { parseToolInput } from '../../tool/input.ts';
import type { Json } from './json.ts';

type Room = undefined | Promise<void>;

/** What tells the calls of one reply apart on the wire: an index, or an id. */
export type CallKey = string | number;

/** How a reply ended. */
export interface Ending {
	/** In Runlet's words; a turn that has calls and only ended is `tool_use`, unless the reason is exact. */
	readonly reason: StopReason;
	/** The provider itself tells a turn that ends in calls from others: its word stands. */
	readonly isExact?: boolean;
	/** The provider's own words: what it calls the stop reason, the model, the answer's id. */
	readonly raw: Json;
	/** What the provider needs back to go on; nothing where text and calls are all there is. */
	readonly metadata?: unknown;
	/** Whether the last call was cut off, where its JSON does not show it. */
	readonly lastCallCut?: boolean;
}

interface Call {
	readonly id: string;
	readonly name: string;
	readonly pieces: string[];
	length: number;
	open: boolean;
}

/** The calls of one reply, in their order. */
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

	/** The newest under a key. */
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
 * Puts a reply together from its pieces, in O(n), and hands them on as deltas. Streamed and whole answers are read by
 * the same adapter code into one of these, so that both give the same reply.
 */
export class ReplyBuilder {
	readonly #onDelta: OnDelta;
	readonly #provider: string;
	readonly #model: string;
	readonly #names: ReadonlyMap<string, string>;
	readonly #calls = new CallList();
	readonly #texts: string[] = [];
	readonly #thoughts: string[] = [];
	#beginsThought = false;
	#answeredBy: string | undefined;
	#usage: Json = {};
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

	/** A piece of what the model shows of its thinking. */
	reasoning(piece: string): Room {
		if (piece === '') return undefined;
		const text = this.#beginsThought && this.#thoughts.length > 0 ? `\n\n${piece}` : piece;
		this.#beginsThought = false;
		this.#thoughts.push(text);
		return this.#onDelta({ type: 'reasoning', text });
	}

	/** The next piece of thinking begins a new paragraph. */
	newThought(): void {
		this.#beginsThought = true;
	}

	/** A call begins. A missing id gets one, an id that comes again a suffix. Returns the id. */
	startCall(key: CallKey, given: string | undefined, alias: string): { readonly id: string; readonly room: Room } {
		const name = this.#names.get(alias) ?? alias;
		const ended = this.endCall(key);
		const { id } = this.#calls.start(key, given, name);
		const started = this.#onDelta({ type: 'tool_use_start', id, name });
		return { id, room: started ?? ended };
	}

	/** The id of the newest call under a key. */
	callId(key: CallKey): string | undefined {
		return this.#calls.get(key)?.id;
	}

	/** A piece of a call's arguments, as JSON. */
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

	/** How much of a call's arguments has come, in characters. */
	inputLength(key: CallKey): number {
		return this.#calls.get(key)?.length ?? 0;
	}

	/** The model that answers, as the provider names it; `claude-x` may be answered by `claude-x-20250929`. */
	setModel(name: string | undefined): void {
		this.#answeredBy = name ?? this.#answeredBy;
	}

	getModel(): string | undefined {
		return this.#answeredBy;
	}

	/** The provider's usage record as known by now. A later one replaces it. */
	usage(raw: Json): void {
		this.#usage = raw;
	}

	/** The terminal event has come. */
	finish(how: Ending): void {
		this.#ending ??= how;
	}

	isFinished(): boolean {
		return this.#ending !== undefined;
	}

	/** The calls that began, as they are by now. */
	calls(): readonly ToolCall[] {
		return this.#calls.all.map(toolCall);
	}

	usageSoFar(): { readonly raw: Json; readonly usage: ChatUsage } {
		return { raw: this.#usage, usage: makeUsage(this.#usage, this.#provider, this.#model) };
	}

	/** Ends what is open, says `stop`, and returns the reply. */
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
	// Joined once: whoever asks again finds one piece.
	pieces.splice(0, pieces.length, json);
	return { id, name, input: parseToolInput(json) };
}

function isCut(call: Call, known: boolean): boolean {
	return known || call.pieces.length === 0 || typeof toolCall(call).input === 'string';
}
