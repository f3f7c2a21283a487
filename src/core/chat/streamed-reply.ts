import { isTooDeep } from '../base/json.ts';
import { findSecret, maskSecrets, type Needles, prepareSecrets, SecretMask } from '../base/secrets.ts';
import { toInputText } from '../tool/call.ts';
import type { ToolCall } from '../tool/index.ts';
import type { SentPrompt } from './cache-miss.ts';
import { type Emit, isLoopKind } from './event.ts';
import type { HiddenCost } from './meter.ts';
import { type ChatReply, type ChatUsage, claimId, type OnDelta, type ReplyDelta, type StreamStop } from './reply.ts';
import { createTokenCounter } from './tokens.ts';

/** A whole reply of a turn. Its calls have unique ids. */
export type TurnReply = ChatReply & {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	/** The model that answered. */
	readonly model: string;
	/** The cost of the request itself. `usage` also has the cost of failed attempts. */
	readonly requestUsage?: ChatUsage;
	/** The milliseconds without a delta. */
	readonly silentMs?: number;
	/** The milliseconds from the request to its first delta. */
	readonly firstMs?: number;
	/** The number of failed requests before this reply. */
	readonly retries?: number;
	readonly sent?: SentPrompt;
	/** Streamed inputs that differ from `JSON.stringify`, by call id. */
	readonly streamedInputs?: Readonly<Record<string, string>>;
	/** The lengths of the streamed thinking and text in turns, if the model thought again after it wrote text. */
	readonly pieces?: readonly number[];
};

/** A pause of at least this many milliseconds is long. */
const longPauseMs = 500;

/**
 * A reply in progress. Emits the deltas of one request, drops empty deltas, makes call ids unique, and collects texts.
 */
export class StreamedReply {
	readonly #emit: Emit;
	readonly #createIds: () => CallIds;
	readonly #ids: CallIds;
	readonly #secrets: Needles;
	/** The shown pieces of the streamed input by call id. */
	readonly #inputs = new Map<string, string[]>();
	/** What hides secrets in a streamed input, by call id. */
	readonly #masks = new Map<string, SecretMask>();
	readonly #names: string[] = [];
	readonly #texts: string[] = [];
	readonly #thoughts: string[] = [];
	/** The lengths of thinking and text in turns. The first is of thinking. */
	readonly #pieces: number[] = [0];
	#stop: StreamStop | undefined;
	#isShown = false;
	#isOpen = true;
	/** The total of the long pauses, and the time of the last delta, in milliseconds. */
	readonly #pauses = { silentMs: 0, lastAt: Date.now() };
	#hasReadAgain = false;
	readonly #begunAt = Date.now();
	#firstMs: number | undefined;

	/** @param secrets are masked in the arguments of calls */
	constructor(emit: Emit, takenIds: ReadonlySet<string> = new Set(), secrets: Needles = none) {
		const nameless = `call_${crypto.randomUUID()}`;
		this.#emit = emit;
		this.#secrets = secrets;
		this.#createIds = () => createCallIds(nameless, takenIds);
		this.#ids = this.#createIds();
	}

	/** Whether readers have seen a part of the reply. */
	get isShown(): boolean {
		return this.#isShown;
	}

	/** The hidden cost: the time before the first delta, and the long pauses until now. */
	get hidden(): HiddenCost {
		return { silentMs: this.#pauses.silentMs + this.#pauseMs(), hasReadAgain: this.#hasReadAgain };
	}

	/** The cost that the stream reported. */
	get usage(): ChatUsage | undefined {
		return this.#stop?.usage;
	}

	take(anyDelta: Parameters<OnDelta>[0]): undefined | Promise<void> {
		if (!this.#isOpen || typeof anyDelta?.type !== 'string' || isLoopKind(anyDelta.type)) return undefined;
		// SAFETY: an adapter sends known kinds with their types, and other kinds are not read.
		const delta = anyDelta as ReplyDelta;
		this.#firstMs ??= Date.now() - this.#begunAt;
		switch (delta.type) {
			case 'text':
			case 'reasoning':
				if (!delta.text) return undefined;
				(delta.type === 'text' ? this.#texts : this.#thoughts).push(delta.text);
				this.#countPiece(delta);
				return this.#show(delta);
			case 'tool_use_start': {
				const id = this.#ids.start(delta.id);
				this.#inputs.set(id, []);
				this.#masks.set(id, new SecretMask(this.#secrets));
				this.#names.push(delta.name ?? '');
				return this.#show(id === delta.id ? delta : { ...delta, id });
			}
			case 'tool_use_input': {
				if (!delta.partialInputJson) return undefined;
				const id = this.#ids.getCurrent(delta.id);
				const partialInputJson = this.#masks.get(id)?.push(delta.partialInputJson) ?? delta.partialInputJson;
				return this.#showInput({ ...delta, id, partialInputJson });
			}
			case 'tool_use_end': {
				const id = this.#ids.getCurrent(delta.id);
				void this.#showRest(id);
				return this.#show(id === delta.id ? delta : { ...delta, id });
			}
			case 'stop':
				this.#stop = delta;
				return undefined;
			default:
				return this.#show(delta);
		}
	}

	/** Completes the reply with the streamed deltas, and emits the parts that were not streamed. */
	async complete(reply: ChatReply, model: string): Promise<TurnReply> {
		const { silentMs } = this.hidden;
		// A reply without a stream has no first delta of its own.
		const firstMs = this.#firstMs;
		const text = reply.text ?? this.#texts.join('');
		const ids = this.#createIds();
		const given = (reply.toolCalls ?? []).map(({ id, name, input }) => ({
			id: ids.start(id),
			name,
			input: toStorable(input),
		}));
		const hasSecret = given.some(({ input }) => findSecret(input, this.#secrets) !== undefined);
		const toolCalls = hasSecret
			? given.map((call) => ({ ...call, input: maskSecrets(call.input, this.#secrets) }))
			: given;
		if (reply.reasoning !== undefined && !this.#isShown) await this.take({ type: 'reasoning', text: reply.reasoning });
		if (this.#texts.length === 0) await this.take({ type: 'text', text });
		const streamedInputs = await this.#showCalls(toolCalls);
		const usage = reply.usage ?? this.usage;
		return {
			...reply,
			// The provider's own form of the reply has the arguments, too.
			providerMetadata: hasSecret ? undefined : reply.providerMetadata,
			reasoning: reply.reasoning ?? (this.#thoughts.length > 0 ? this.#thoughts.join('') : undefined),
			text,
			toolCalls,
			streamedInputs,
			pieces: this.#pieces.length > 2 ? this.#pieces : undefined,
			stopReason: reply.stopReason ?? this.#stop?.reason ?? 'end_turn',
			usage,
			requestUsage: usage,
			silentMs,
			firstMs,
			model,
		};
	}

	/** Estimates the streamed tokens. */
	countTokens(): number {
		const counter = createTokenCounter();
		const inputs = [...this.#inputs.values()].flat();
		for (const text of [...this.#texts, ...this.#thoughts, ...this.#names, ...inputs]) counter.add(text);
		return Math.ceil(counter.total());
	}

	/** Ends the call. Later deltas are dropped. */
	close(): void {
		this.#isOpen = false;
	}

	#countPiece({ type, text }: { readonly type: 'text' | 'reasoning'; readonly text: string }): void {
		const goesOn = this.#pieces.length % 2 === (type === 'text' ? 0 : 1);
		const before = goesOn ? this.#pieces.pop() : undefined;
		this.#pieces.push((before ?? 0) + text.length);
	}

	/** Returns the time since the last delta if it is a long pause, else 0. */
	#pauseMs(): number {
		const ms = Date.now() - this.#pauses.lastAt;
		return this.#isShown && ms < longPauseMs ? 0 : ms;
	}

	#showInput(delta: ReplyDelta & { readonly type: 'tool_use_input' }): undefined | Promise<void> {
		if (delta.partialInputJson === '') return this.#noteTime();
		this.#inputs.get(delta.id)?.push(delta.partialInputJson);
		return this.#show(delta);
	}

	/** Shows the held end of a call's input. */
	#showRest(id: string): undefined | Promise<void> {
		const partialInputJson = this.#masks.get(id)?.end() ?? '';
		return partialInputJson === '' ? undefined : this.#showInput({ type: 'tool_use_input', id, partialInputJson });
	}

	#noteTime(): undefined {
		this.#pauses.silentMs += this.#pauseMs();
		this.#pauses.lastAt = Date.now();
	}

	#show(delta: ReplyDelta): undefined | Promise<void> {
		this.#noteTime();
		this.#isShown = true;
		this.#hasReadAgain ||= delta.type === 'provider_tool';
		return this.#emit(delta);
	}

	/** Emits the calls that were not streamed. Returns the streamed inputs that differ from `JSON.stringify`. */
	async #showCalls(calls: readonly ToolCall[]): Promise<Readonly<Record<string, string>> | undefined> {
		const different = new Map<string, string>();
		for (const { id, name, input } of calls) {
			const pieces = this.#inputs.get(id);
			if (pieces !== undefined) {
				await this.#showRest(id);
				const streamed = pieces.join('');
				if (streamed !== toInputText(input)) different.set(id, this.#hide(streamed));
				continue;
			}
			await this.#show({ type: 'tool_use_start', id, name });
			await this.#show({ type: 'tool_use_input', id, partialInputJson: toInputText(input) });
			await this.#show({ type: 'tool_use_end', id });
		}
		return different.size > 0 ? Object.fromEntries(different) : undefined;
	}

	/** Hides a text with a secret that is escaped so that it was not found piece by piece. Keeps the length. */
	#hide(streamed: string): string {
		return maskSecrets(streamed, this.#secrets) === streamed ? streamed : '*'.repeat(streamed.length);
	}
}

const none = prepareSecrets([]);

type CallIds = ReturnType<typeof createCallIds>;

/** Makes the ids of a turn's calls unique: a missing id becomes `nameless`, and a used id gets a suffix. */
function createCallIds(nameless: string, takenIds: ReadonlySet<string>) {
	const used = new Set(takenIds);
	const newest = new Map<string, string>();
	return {
		/** Returns a unique id for a new call. */
		start: (id: string): string => {
			const unique = claimId(used, id || nameless);
			newest.set(id, unique);
			return unique;
		},
		/** Returns the unique id of the newest call that was started with this id. */
		getCurrent: (id: string): string => newest.get(id) ?? id,
	};
}

/** Converts an input that is nested too deep to a text. */
function toStorable(input: unknown): unknown {
	if (input === '' || input === null || input === undefined) return {};
	return isTooDeep(input) ? toInputText(input) : input;
}
