import { RunletError } from '../base/errors.ts';
import type { CallOptions, ChatReply, Message, OnDelta, ProviderRegistration } from '../chat/index.ts';
import { toInputText } from '../tool/call.ts';
import type { Tool } from '../tool/index.ts';

/** One request to a scripted model. */
export interface ScriptedRequest {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly Tool[] | undefined;
	readonly options: CallOptions | undefined;
	readonly streamed: boolean;
}

/** A reply that the model plays. `deltas` are streamed unchanged. Without `deltas`, the reply is split into deltas. */
export type ScriptedReply = Partial<ChatReply> & { readonly deltas?: readonly Parameters<OnDelta>[0][] };

type ScriptedResult = string | ScriptedReply | Error | undefined;

/**
 * One turn of a script: a text, a reply, an error to throw, `undefined` for a stream that breaks off, or a function
 * that returns one of these. The function can also stream deltas itself.
 */
export type ScriptedTurn = ScriptedResult | ScriptedFn;
export type ScriptedFn = (request: ScriptedRequest, onDelta: OnDelta) => ScriptedResult | Promise<ScriptedResult>;

/** A provider that plays a script, for tests. `requests` lists the requests so far, oldest first. */
export type ScriptedProvider = ProviderRegistration & { readonly requests: readonly ScriptedRequest[] };

/**
 * A model for tests. Plays the given turns, one turn for each call, and records its requests. Serves every model
 * whose name begins with `scripted`. A call after the end of the script fails.
 */
export function scripted(turns: readonly ScriptedTurn[]): ScriptedProvider {
	const requests: ScriptedRequest[] = [];
	const next = async (request: ScriptedRequest, onDelta: OnDelta): Promise<ScriptedReply | undefined> => {
		const at = requests.push(request) - 1;
		if (at >= turns.length)
			throw new RunletError('invalid_request', `The script has ${turns.length} turns; this is call ${at + 1}.`);
		const turn = turns[at];
		const played = typeof turn === 'function' ? await turn(request, onDelta) : turn;
		if (played instanceof Error) throw played;
		return typeof played === 'string' ? { text: played } : played;
	};
	return {
		variant: 'scripted',
		displayName: 'Scripted',
		detect: (model) => model.startsWith('scripted'),
		requests,
		chatFn: async (model, messages, system, tools, options) => {
			const played = await next({ model, messages, system, tools, options, streamed: false }, () => undefined);
			return played === undefined ? undefined : toReply(played);
		},
		chatStreamFn: async (model, messages, system, tools, onDelta, options) => {
			let streamed = false;
			const own: OnDelta = (delta) => {
				streamed = true;
				return onDelta(delta);
			};
			const played = await next({ model, messages, system, tools, options, streamed: true }, own);
			if (played === undefined) return undefined;
			const reply = toReply(played);
			for (const delta of played.deltas ?? (streamed ? [] : toDeltas(reply))) await onDelta(delta);
			return reply;
		},
	};
}

function toReply({ deltas: _, ...reply }: ScriptedReply): ChatReply {
	return { ...reply, stopReason: reply.stopReason ?? ((reply.toolCalls ?? []).length > 0 ? 'tool_use' : 'end_turn') };
}

function toDeltas(reply: ChatReply): Parameters<OnDelta>[0][] {
	const { text = '', reasoning = '', toolCalls = [], providerCalls = [], sources = [], stopReason, usage } = reply;
	return [
		{ type: 'reasoning', text: reasoning },
		...providerCalls.map((call) => ({ type: 'provider_tool', ...call })),
		{ type: 'text', text },
		...sources.map((source) => ({ type: 'source', ...source })),
		...toolCalls.flatMap(({ id, name, input }) => [
			{ type: 'tool_use_start', id, name },
			{ type: 'tool_use_input', id, partialInputJson: toInputText(input) },
			{ type: 'tool_use_end', id },
		]),
		{ type: 'stop', reason: stopReason, usage },
	];
}
