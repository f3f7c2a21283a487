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

/**
 * Puts a reply together from its pieces, in O(n), and hands them on as deltas. Streamed and whole answers are read by
 * the same adapter code into one of these, so that both give the same reply.
 */
export interface ReplyBuilder {
	readonly text: (piece: string) => Room;
	/** A piece of what the model shows of its thinking. */
	readonly reasoning: (piece: string) => Room;
	/** The next piece of thinking begins a new paragraph. */
	readonly newThought: () => void;
	/** A call begins. A missing id gets one, an id that comes again a suffix. Gives the id. */
	readonly startCall: (
		key: CallKey,
		id: string | undefined,
		name: string,
	) => { readonly id: string; readonly room: Room };
	/** The id of the newest call under a key. */
	readonly callId: (key: CallKey) => string | undefined;
	/** A piece of a call's arguments, as JSON. */
	readonly input: (key: CallKey, piece: string) => Room;
	readonly endCall: (key: CallKey) => Room;
	/** How much of a call's arguments has come, in characters. */
	readonly inputLength: (key: CallKey) => number;
	/** The model that answers, as the provider names it; `claude-x` may be answered by `claude-x-20250929`. */
	readonly setModel: (model: string | undefined) => void;
	readonly getModel: () => string | undefined;
	/** The provider's usage record as known by now; a later one replaces it. */
	readonly usage: (raw: Json) => void;
	/** The terminal event has come. */
	readonly finish: (ending: Ending) => void;
	readonly isFinished: () => boolean;
	/** The calls that began, as they are by now. */
	readonly calls: () => readonly ToolCall[];
	readonly usageSoFar: () => { readonly raw: Json; readonly usage: ChatUsage };
	/** Ends what is open, says `stop`, and gives the reply. */
	readonly close: (usage: ChatUsage) => Promise<ChatReply>;
}

interface Call {
	readonly id: string;
	readonly name: string;
	readonly pieces: string[];
	length: number;
	open: boolean;
}

/** @param names the tools' own names by their aliases, where they differ */
export function replyBuilder(
	onDelta: OnDelta,
	provider: string,
	model: string,
	names: ReadonlyMap<string, string> = new Map(),
): ReplyBuilder {
	const texts: string[] = [];
	const thoughts: string[] = [];
	const calls: Call[] = [];
	const byKey = new Map<CallKey, Call>();
	const ids = new Set<string>();
	let answeredBy: string | undefined;
	let apart = false;
	let usage: Json = {};
	let ending: Ending | undefined;

	const ownId = (given: string | undefined): string => {
		const base = given || `call_${crypto.randomUUID()}`;
		let id = base;
		for (let again = 2; ids.has(id); again++) id = `${base}_${again}`;
		ids.add(id);
		return id;
	};
	const end = (call: Call | undefined): Room => {
		if (call === undefined || !call.open) return undefined;
		call.open = false;
		return onDelta({ type: 'tool_use_end', id: call.id });
	};

	return {
		text: (piece) => {
			if (piece === '') return undefined;
			texts.push(piece);
			return onDelta({ type: 'text', text: piece });
		},
		reasoning: (piece) => {
			if (piece === '') return undefined;
			const text = apart && thoughts.length > 0 ? `\n\n${piece}` : piece;
			apart = false;
			thoughts.push(text);
			return onDelta({ type: 'reasoning', text });
		},
		newThought: () => {
			apart = true;
		},
		startCall: (key, given, alias) => {
			const name = names.get(alias) ?? alias;
			const ended = end(byKey.get(key));
			const call: Call = { id: ownId(given), name, pieces: [], length: 0, open: true };
			calls.push(call);
			byKey.set(key, call);
			const { id } = call;
			const started = onDelta({ type: 'tool_use_start', id, name });
			return { id, room: started ?? ended };
		},
		callId: (key) => byKey.get(key)?.id,
		input: (key, piece) => {
			const call = byKey.get(key);
			if (call === undefined || piece === '') return undefined;
			call.pieces.push(piece);
			call.length += piece.length;
			return onDelta({ type: 'tool_use_input', id: call.id, partialInputJson: piece });
		},
		endCall: (key) => end(byKey.get(key)),
		inputLength: (key) => byKey.get(key)?.length ?? 0,
		setModel: (name) => {
			answeredBy = name ?? answeredBy;
		},
		getModel: () => answeredBy,
		usage: (raw) => {
			usage = raw;
		},
		finish: (how) => {
			ending ??= how;
		},
		isFinished: () => ending !== undefined,
		calls: () => calls.map(toolCall),
		usageSoFar: () => ({ raw: usage, usage: makeUsage(usage, provider, model) }),
		close: async (spent) => {
			const {
				reason: given,
				isExact,
				raw,
				metadata,
				lastCallCut = false,
			}: Ending = ending ?? { reason: 'end_turn', raw: {} };
			const whole =
				given === 'max_tokens'
					? calls.filter((call, at) => !isCut(call, lastCallCut && at === calls.length - 1))
					: calls;
			const reason = given === 'end_turn' && whole.length > 0 && !isExact ? 'tool_use' : given;
			for (const call of calls) await end(call);
			await onDelta({ type: 'stop', reason, usage: spent });
			return {
				text: texts.join(''),
				toolCalls: whole.map(toolCall),
				stopReason: reason,
				usage: spent,
				...(thoughts.length > 0 && { reasoning: thoughts.join('') }),
				...(metadata !== undefined && { providerMetadata: { [provider]: metadata } }),
				raw,
			};
		},
	};
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
