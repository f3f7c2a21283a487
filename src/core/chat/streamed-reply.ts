import { isTooDeep } from '../ground/json.ts';
import type { ToolCall } from '../tool/index.ts';
import { toInputText } from '../tool/input.ts';
import { type Emit, isLoopKind } from './event.ts';
import type { ChatReply, OnDelta, ReplyDelta, StreamStop } from './reply.ts';
import { createTokenCounter } from './tokens.ts';
import type { ChatUsage } from './usage.ts';

/** A whole reply: the text is always there, every call has an id of its own, and `model` is the one that answered. */
export type TurnReply = ChatReply & {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly model: string;
	/** What the request itself cost; `usage` counts failed tries, too. */
	readonly requestUsage?: ChatUsage;
	/** Inputs that were streamed in other words than `JSON.stringify` finds for them, by call id. */
	readonly streamedInputs?: Readonly<Record<string, string>>;
};

/** A reply on its way: what its model streams of it. */
export interface StreamedReply {
	/** Takes one delta, and shows it. */
	readonly take: OnDelta;
	/** Completes the reply from what was streamed, and shows what was not. */
	readonly complete: (reply: ChatReply, model: string) => Promise<TurnReply>;
	readonly isShown: () => boolean;
	readonly getUsage: () => ChatUsage | undefined;
	/** Tokens of what was streamed, estimated. */
	readonly countTokens: () => number;
	/** Drops the deltas that come later: the call is over. */
	readonly close: () => void;
}

/** Shows the deltas of one call: drops the empty ones, tells equal call ids apart, and keeps their texts. */
export function createStreamedReply(emit: Emit, takenIds: ReadonlySet<string> = new Set()): StreamedReply {
	const nameless = `call_${crypto.randomUUID()}`;
	const ids = createCallIds(nameless, takenIds);
	/** The input of each call as it was streamed, in pieces. */
	const inputs = new Map<string, string[]>();
	const names: string[] = [];
	const texts: string[] = [];
	const thoughts: string[] = [];
	let stop: StreamStop | undefined;
	let isShown = false;
	let isOpen = true;

	const show = (delta: ReplyDelta): undefined | Promise<void> => {
		isShown = true;
		return emit(delta);
	};
	const take: OnDelta = (given) => {
		if (!isOpen || typeof given?.type !== 'string' || isLoopKind(given.type)) return undefined;
		// What an adapter sends of a known kind is as the types say; other kinds pass through unread.
		const delta = given as ReplyDelta;
		switch (delta.type) {
			case 'text':
			case 'reasoning':
				if (!delta.text) return undefined;
				(delta.type === 'text' ? texts : thoughts).push(delta.text);
				return show(delta);
			case 'tool_use_start': {
				const id = ids.start(delta.id);
				inputs.set(id, []);
				names.push(delta.name ?? '');
				return show(id === delta.id ? delta : { ...delta, id });
			}
			case 'tool_use_input':
			case 'tool_use_end': {
				if (delta.type === 'tool_use_input' && !delta.partialInputJson) return undefined;
				const id = ids.getCurrent(delta.id);
				if (delta.type === 'tool_use_input') inputs.get(id)?.push(delta.partialInputJson);
				return show(id === delta.id ? delta : { ...delta, id });
			}
			case 'stop':
				stop = delta;
				return undefined;
			default:
				return show(delta);
		}
	};
	/** Shows the calls that were not streamed; gives the inputs that were streamed in other words than their own. */
	const showCalls = async (calls: readonly ToolCall[]): Promise<Readonly<Record<string, string>> | undefined> => {
		const otherWords = new Map<string, string>();
		for (const { id, name, input } of calls) {
			const pieces = inputs.get(id);
			if (pieces !== undefined) {
				const streamed = pieces.join('');
				if (streamed !== toInputText(input)) otherWords.set(id, streamed);
				continue;
			}
			await show({ type: 'tool_use_start', id, name });
			await show({ type: 'tool_use_input', id, partialInputJson: toInputText(input) });
			await show({ type: 'tool_use_end', id });
		}
		return otherWords.size > 0 ? Object.fromEntries(otherWords) : undefined;
	};

	return {
		take,
		isShown: () => isShown,
		getUsage: () => stop?.usage,
		countTokens: () => {
			const counter = createTokenCounter();
			for (const text of [...texts, ...thoughts, ...names, ...[...inputs.values()].flat()]) counter.add(text);
			return Math.ceil(counter.total());
		},
		close: () => {
			isOpen = false;
		},
		complete: async (reply, model) => {
			const text = reply.text ?? texts.join('');
			const toolCalls = toUniqueCalls(reply.toolCalls ?? [], nameless, takenIds);
			if (reply.reasoning !== undefined && !isShown) await take({ type: 'reasoning', text: reply.reasoning });
			if (texts.length === 0) await take({ type: 'text', text });
			const streamedInputs = await showCalls(toolCalls);
			const usage = reply.usage ?? stop?.usage;
			return {
				...reply,
				reasoning: reply.reasoning ?? (thoughts.length > 0 ? thoughts.join('') : undefined),
				text,
				toolCalls,
				streamedInputs,
				stopReason: reply.stopReason ?? stop?.reason ?? 'end_turn',
				usage,
				requestUsage: usage,
				model,
			};
		},
	};
}

/** Gives every call of a turn an id of its own: one without gets `nameless`, an id that is taken a suffix. */
function createCallIds(
	nameless: string,
	others: ReadonlySet<string>,
): { start: (id: string) => string; getCurrent: (id: string) => string } {
	const taken = new Set(others);
	const latest = new Map<string, string>();
	return {
		start: (id) => {
			const base = id || nameless;
			let own = base;
			for (let again = 2; taken.has(own); again++) own = `${base}_${again}`;
			taken.add(own);
			latest.set(id, own);
			return own;
		},
		getCurrent: (id) => latest.get(id) ?? id,
	};
}

function toUniqueCalls(calls: readonly ToolCall[], nameless: string, others: ReadonlySet<string>): ToolCall[] {
	const ids = createCallIds(nameless, others);
	return calls.map(({ id, name, input }) => ({ id: ids.start(id), name, input: toKeepable(input) }));
}

/** An input as a history can hold it: one that is nested too deep becomes a text. */
function toKeepable(input: unknown): unknown {
	if (input === '' || input === null || input === undefined) return {};
	return isTooDeep(input) ? toInputText(input) : input;
}
