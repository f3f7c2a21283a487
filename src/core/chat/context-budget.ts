import { RunletError } from '../base/errors.ts';
import type { Tool } from '../tool/index.ts';
import { memoize } from './memoize.ts';
import { type Message, messageText } from './message.ts';
import type { ChatOptions } from './options.ts';
import { writeSystem } from './run-context.ts';

/** The estimated tokens of a request by their purpose. */
export interface BudgetParts {
	readonly messages: number;
	readonly system: number;
	readonly tools: number;
}

/** The use of the context window. */
export interface ContextBudget {
	readonly parts: BudgetParts;
	readonly total: number;
	readonly limit: number;
	/** Whether `total` is over `warnContextPct` of `limit`. */
	readonly warn: boolean;
}

export type RequestSize = Pick<ContextBudget, 'parts' | 'total'>;

/**
 * Checks a request against the context limit: `maxContextTokens`, else `modelContextWindow`. Resolves to `undefined`
 * without a limit. Rejects with `context_overflow` over it, with `data` `{ parts, total, limit }`.
 */
export async function checkBudget(
	options: Pick<
		ChatOptions,
		'model' | 'system' | 'context' | 'maxContextTokens' | 'modelContextWindow' | 'warnContextPct' | 'countTokensFn'
	>,
	messages: readonly Message[],
	tools?: readonly Tool[],
): Promise<ContextBudget | undefined> {
	const limit = await findContextLimit(options);
	if (limit === undefined) return undefined;
	const system = await writeSystem(options.system, options.context);
	const size = await measureRequest({ ...options, system }, messages, tools);
	if (size.total > limit) throw createOverflow(size, limit);
	return { ...size, limit, warn: isNearlyFull(options, size, limit) };
}

/** Returns the most tokens of a request, or `undefined` if unknown. */
export async function findContextLimit(
	options: Pick<ChatOptions, 'model' | 'maxContextTokens' | 'modelContextWindow'>,
): Promise<number | undefined> {
	const { model, maxContextTokens, modelContextWindow: window } = options;
	return maxContextTokens ?? (typeof window === 'function' ? window(model) : window);
}

export async function measureRequest(
	options: Pick<ChatOptions, 'model' | 'countTokensFn'> & { readonly system?: string },
	messages: readonly Message[],
	tools?: readonly Tool[],
): Promise<RequestSize> {
	const { model, system, countTokensFn: count = countTokensHeuristic } = options;
	const parts: BudgetParts = {
		messages: await count(messages, model),
		system: estimateSystemTokens(system),
		tools: estimateToolsTokens(tools),
	};
	return { parts, total: parts.messages + parts.system + parts.tools };
}

export function isNearlyFull(
	{ warnContextPct = 0.8 }: Pick<ChatOptions, 'warnContextPct'>,
	{ total }: RequestSize,
	limit: number,
): boolean {
	return total > limit * warnContextPct;
}

export function createOverflow({ parts, total }: RequestSize, limit: number): RunletError {
	return new RunletError('context_overflow', formatBudgetBreakdown(parts, total, limit), { parts, total, limit });
}

/** Counts the tokens of messages for any model: characters / 4, plus 4 for each message. */
export function countTokensHeuristic(messages: readonly Message[], _model?: string): number {
	let characters = 0;
	for (const message of messages) characters += countCharacters(message);
	return Math.ceil(characters / 4) + 4 * messages.length;
}

/** Counts the tokens of a system prompt: characters / 4. */
export function estimateSystemTokens(system: string | undefined): number {
	return Math.ceil((system ?? '').length / 4);
}

/** Counts the tokens of tools: the characters of their JSON / 4, plus 10 for each tool. */
export function estimateToolsTokens(tools: readonly Tool[] | undefined): number {
	return (tools ?? []).reduce(
		(sum, { name, description, inputSchema }) =>
			sum + 10 + Math.ceil(JSON.stringify({ name, description, inputSchema }).length / 4),
		0,
	);
}

/** Formats the message of a `context_overflow`. */
export function formatBudgetBreakdown({ messages, system, tools }: BudgetParts, total: number, limit: number): string {
	return (
		`The request needs about ${total} tokens, over the context limit of ${limit}: messages ${messages}, system ${system}, tools ${tools}. ` +
		'Shorten the history, offer fewer tools, or use a model with a larger context window.'
	);
}

const countCharacters = memoize((message: Message): number => {
	const calls =
		message.role === 'assistant' && message.toolCalls !== undefined ? JSON.stringify(message.toolCalls).length : 0;
	return messageText(message).length + calls;
});
