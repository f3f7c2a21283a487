import { isTooDeep } from '../ground/json.ts';
import type { ToolCall } from '../tool/index.ts';
import { toInputText } from '../tool/input.ts';
import { isLoopKind, type RunEvent } from './event.ts';
import type { ChatReply, OnDelta, ReplyDelta, StreamStop } from './reply.ts';
import { createTokenCounter } from './tokens.ts';
import type { ChatUsage } from './usage.ts';

/** A whole reply: the text is always there, every call has an id of its own, and `model` is the one that answered. */
export type TurnReply = ChatReply & {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly model: string;
	/** What the request itself cost; `usage` counts lost tries, too. */
	readonly requestUsage?: ChatUsage;
	/** Inputs that were streamed in other words than `JSON.stringify` finds for them, by call. */
	readonly streamedInputs?: Readonly<Record<string, string>>;
};

export type Push = (event: RunEvent) => undefined | Promise<void>;

export interface DeltaReader {
	/** Takes one delta from the adapter. */
	readonly take: OnDelta;
	/** Completes the reply from what was streamed, and shows what was not. */
	readonly finish: (reply: ChatReply, model: string) => Promise<TurnReply>;
	readonly isShown: () => boolean;
	readonly getSeenUsage: () => ChatUsage | undefined;
	/** Tokens of what was streamed, estimated. */
	readonly countStreamedTokens: () => number;
	/** Deltas that come later are dropped: the call is over. */
	readonly close: () => void;
}

/** Follows the deltas of one call: drops the empty ones, tells equal call ids apart, remembers what was shown. */
export function deltaReader(push: Push, taken: ReadonlySet<string> = new Set()): DeltaReader {
	const nameless = `call_${crypto.randomUUID()}`;
	const ids = callIds(nameless, taken);
	/** The input of each call as it was streamed, in pieces. */
	const inputs = new Map<string, string[]>();
	const names: string[] = [];
	const texts: string[] = [];
	const thoughts: string[] = [];
	let stop: StreamStop | undefined;
	let shown = false;
	let open = true;

	const show = (delta: ReplyDelta): undefined | Promise<void> => {
		shown = true;
		return push(delta);
	};
	const take: OnDelta = (given) => {
		if (!open || typeof given?.type !== 'string' || isLoopKind(given.type)) return undefined;
		// What an adapter sends of a known kind is as the types say; other kinds pass through unread.
		const delta = given as ReplyDelta;
		switch (delta.type) {
			case 'text':
				if (!delta.text) return undefined;
				texts.push(delta.text);
				return show(delta);
			case 'reasoning':
				if (!delta.text) return undefined;
				thoughts.push(delta.text);
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

	return {
		take,
		isShown: () => shown,
		getSeenUsage: () => stop?.usage,
		countStreamedTokens: () => {
			const counter = createTokenCounter();
			for (const text of [...texts, ...thoughts, ...names, ...[...inputs.values()].flat()]) counter.add(text);
			return Math.ceil(counter.total());
		},
		close: () => {
			open = false;
		},
		finish: async (reply, model) => {
			const text = reply.text ?? texts.join('');
			const toolCalls = uniqueCalls(reply.toolCalls ?? [], nameless, taken);
			const streamedInputs = new Map<string, string>();
			if (reply.reasoning !== undefined && !shown) await take({ type: 'reasoning', text: reply.reasoning });
			if (texts.length === 0) await take({ type: 'text', text });
			for (const { id, name, input } of toolCalls) {
				const pieces = inputs.get(id);
				if (pieces !== undefined) {
					const streamed = pieces.join('');
					if (streamed !== toInputText(input)) streamedInputs.set(id, streamed);
					continue;
				}
				await show({ type: 'tool_use_start', id, name });
				await show({ type: 'tool_use_input', id, partialInputJson: toInputText(input) });
				await show({ type: 'tool_use_end', id });
			}
			return {
				...reply,
				reasoning: reply.reasoning ?? (thoughts.length > 0 ? thoughts.join('') : undefined),
				text,
				toolCalls,
				...(streamedInputs.size > 0 && { streamedInputs: Object.fromEntries(streamedInputs) }),
				stopReason: reply.stopReason ?? stop?.reason ?? 'end_turn',
				usage: reply.usage ?? stop?.usage,
				requestUsage: reply.usage ?? stop?.usage,
				model,
			};
		},
	};
}

/** Gives every call of a turn an id of its own: one without gets `nameless`, an id that is taken a suffix. */
function callIds(
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

function uniqueCalls(calls: readonly ToolCall[], nameless: string, others: ReadonlySet<string>): ToolCall[] {
	const ids = callIds(nameless, others);
	return calls.map(({ id, name, input }) => ({ id: ids.start(id), name, input: isKeepable(input) }));
}

/** What a history can hold of an input: one that is nested too deep becomes a text. */
function isKeepable(input: unknown): unknown {
	if (input === '' || input === null || input === undefined) return {};
	return isTooDeep(input) ? toInputText(input) : input;
}
