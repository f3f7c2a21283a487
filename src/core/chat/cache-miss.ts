import { hashText } from '../base/bytes.ts';
import { memoize } from '../base/memoize.ts';
import type { Tool } from '../tool/index.ts';
import { type Conversation, isSummary } from './conversation.ts';
import { type Message, messageText } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { CacheMiss, PromptRecord } from './prompt-record.ts';
import type { ChatUsage } from './reply.ts';

export interface SentPrompt extends Pick<Conversation, 'messages' | 'window' | 'fronts' | 'references'> {
	readonly model: string;
	readonly tools?: readonly Tool[];
	readonly system?: string;
}

/** Records an answered request. */
export function createPromptRecord(sent: SentPrompt, usage: ChatUsage, at: number): PromptRecord {
	const { model, tools = [], system = '' } = sent;
	const { messages, references } = sent;
	const fronts = [...(sent.fronts?.values() ?? [])];
	return {
		model,
		tools: [tools.length, hashTools(tools, tools.length)],
		system: hashText(system),
		start: describeStart(sent),
		fronts: [fronts.length, hashFronts(fronts, fronts.length)],
		...(references && { references: [references.messages.size, messages.length - references.before] as const }),
		inputTokens: usage.inputTokens ?? 0,
		at,
	};
}

/** The tolerance for the counts of providers, who count in steps of up to 128 tokens. */
const unevenTokens = 256;

/** The minimum number of tokens of a cached prompt: for most models, and for the models with the highest minimum. */
const [usualMinimum, highestMinimum] = [1_024, 4_096];

/**
 * Finds why fewer tokens came from the cache than the previous request contained. Returns `undefined` after a hit,
 * or if the provider does not report its cache.
 *
 * @param askedAt when the request was made
 */
export function findCacheMiss(
	before: PromptRecord,
	sent: SentPrompt,
	{ cachedInputTokens: cached }: ChatUsage,
	{ askedAt, cache }: Pick<ChatOptions, 'cache'> & { readonly askedAt: number },
): CacheMiss | undefined {
	if (cache === false || cached === undefined || cached + unevenTokens >= before.inputTokens) return undefined;
	const { model, tools = [], system = '' } = sent;
	const [count, hash] = before.tools;
	const [start, isSummed] = describeStart(sent);
	const fronts = [...(sent.fronts?.values() ?? [])];
	if (model !== before.model) return 'changed model';
	if (hashTools(tools, count) !== hash) return 'changed tools';
	if (hashText(system) !== before.system) return 'changed system';
	if (start !== before.start[0]) return isSummed ? 'summary' : 'truncated';
	if (sent.references?.messages.size !== before.references?.[0]) return 'old results';
	if (hashFronts(fronts, before.fronts[0]) !== before.fronts[1]) return 'changed messages';
	if (before.inputTokens < usualMinimum) return 'too short';
	if (askedAt - before.at > (cache === '1h' ? 60 : 5) * 60_000) return 'expired';
	if (tools.length > count) return 'new tools';
	return cached === 0 && before.inputTokens < highestMinimum ? 'too short' : 'unknown';
}

const hashTool = memoize(({ name, description, inputSchema }: Tool) =>
	hashText(JSON.stringify([name, description, inputSchema])),
);
const hashMessage = memoize((message: Message) => hashText(messageText(message)));

function hashTools(tools: readonly Tool[], count: number): string {
	return hashText(tools.slice(0, count).map(hashTool).join());
}

function hashFronts(fronts: readonly Message[], count: number): string {
	return hashText(fronts.slice(0, count).map(hashMessage).join());
}

function describeStart({ messages, window: { front, from } }: SentPrompt): PromptRecord['start'] {
	const first = [...front, ...messages.slice(from, from + 1)];
	return [hashText(first.map(hashMessage).join()), front.some(isSummary)];
}
