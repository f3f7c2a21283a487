import { isRecord } from '../base/json.ts';
import { withoutFence } from '../chat/fence.ts';
import {
	type CallOptions,
	type ChatReply,
	type ChatUsage,
	countTokensHeuristic,
	estimateSystemTokens,
	estimateToolsTokens,
	type Message,
	makeUsage,
	messageText,
	type OnDelta,
	type ProviderRegistration,
} from '../chat/index.ts';
import type { Tool, ToolCall } from '../tool/index.ts';
import { createPrices } from './adapter/price.ts';
import { type Done, type PlannedCall, reportFiles } from './demo-files.ts';
import { toForm } from './demo-output.ts';
import { askMark, findSign, planActions, planSum, skillTools } from './demo-plan.ts';
import { reportReading } from './demo-web.ts';
import type { OwnPrice } from './prices/own.ts';
import type { Price } from './prices/price.ts';

export interface DemoOptions {
	/** The pause between two deltas in milliseconds, so that a person sees the stream. The default is 0. */
	readonly delayMs?: number;
	/** Your own prices, to try a budget in dollars. Without them a call costs nothing. */
	readonly price?: OwnPrice;
}

/**
 * The model `demo`, which needs no key and no network (docs/models.md). It is deterministic, and is not a
 * language model. It answers arithmetic with the arithmetic tool, reads a skill if a message has one of its
 * triggers, asks for a missing argument, and fills in a form.
 */
export function demo({ delayMs = 0, price }: DemoOptions = {}): ProviderRegistration {
	const prices = createPrices('demo', price);
	const findCost = (model: string, usage: ChatUsage): Price =>
		price === undefined ? { usd: 0 } : prices.findCost([model], {}, { ...usage, costUsd: 0 });
	const reply = (
		model: string,
		messages: readonly Message[],
		system: string | undefined,
		tools: readonly Tool[] | undefined,
		{ maxOutputTokens = Number.POSITIVE_INFINITY, outputSchema }: CallOptions = {},
	): ChatReply => {
		const { text: plain, toolCalls } = answer(messages, system ?? '', tools ?? []);
		const text = toolCalls.length > 0 ? plain : toForm(plain, outputSchema, system);
		const inputTokens = countTokensHeuristic(messages) + estimateSystemTokens(system) + estimateToolsTokens(tools);
		const outputTokens = Math.ceil((text.length + JSON.stringify(toolCalls).length) / 4);
		const used = makeUsage({ inputTokens, outputTokens: Math.min(outputTokens, maxOutputTokens) }, 'demo', 'demo');
		const cost = findCost(model, used);
		const usage = { ...used, ...('usd' in cost ? { costUsd: cost.usd } : cost) };
		if (outputTokens > maxOutputTokens)
			return { text: text.slice(0, 4 * maxOutputTokens), stopReason: 'max_tokens', usage };
		return { text, toolCalls, stopReason: toolCalls.length > 0 ? 'tool_use' : 'end_turn', usage };
	};
	return {
		variant: 'demo',
		displayName: 'Demo',
		detect: (model) => model === 'demo' || model.startsWith('demo/'),
		meta: { contextWindow: 1_000_000 },
		computePrice: (model, usage) => {
			const cost = findCost(model, usage);
			return 'usd' in cost ? cost.usd : undefined;
		},
		withPrices: (own) => demo({ delayMs, price: price ?? own }),
		embedFn: async (_model, texts) => texts.map(demoEmbedding),
		chatFn: async (model, messages, system, tools, options) => reply(model, messages, system, tools, options),
		chatStreamFn: async (model, messages, system, tools, onDelta, options) => {
			const whole = reply(model, messages, system, tools, options);
			for (const delta of toDeltas(whole)) {
				if (options?.signal?.aborted) break;
				await onDelta(delta);
				if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
			}
			return whole;
		},
	};
}

/** The beginning of a message that reports the end of a background task. Such a message asks for nothing. */
const news = /^([\w-]+) \(session [\da-f]+\) (?=(?:has finished|did not finish) its task)/;

function answer(
	messages: readonly Message[],
	system: string,
	tools: readonly Tool[],
): { text: string; toolCalls: ToolCall[] } {
	const newest = messages.findLast(({ role }) => role === 'user');
	const message = newest === undefined ? '' : messageText(newest);
	if (news.test(message)) return { text: takeExcerpt(message.replace(news, '$1 ')), toolCalls: [] };
	const { text, done } = readTurn(messages);
	const actions = planActions(text, system, tools, done);
	const todo = actions.find((action) => 'tool' in action && !done.some(({ call }) => isSameCall(call, action)));
	if (todo !== undefined && 'tool' in todo) {
		const id = `demo_${messages.length}_${done.length + 1}`;
		return { text: announce(todo.tool, todo.input), toolCalls: [{ id, name: todo.tool, input: todo.input }] };
	}
	const hasFiles = actions.some((action) => 'tool' in action && /^(plan_changes|write_file)$/.test(action.tool));
	const hasPages = actions.some((action) => 'tool' in action && action.tool === 'web_fetch');
	const reports = done.map(
		(call) => (hasPages ? reportReading(call) : hasFiles ? reportFiles(call) : undefined) ?? report(call),
	);
	const parts = [
		...reports.filter((text) => text !== ''),
		...actions.flatMap((action) => ('ask' in action ? [action.ask] : [])),
	];
	return { text: parts.length > 0 ? parts.join('\n\n') : introduce(system, tools), toolCalls: [] };
}

/** Returns the user's request and its answered calls. A reply to a question also has the earlier request. */
function readTurn(messages: readonly Message[]): { text: string; done: Done[] } {
	const at = messages.findLastIndex(({ role }) => role === 'user');
	const talk = messages.slice(0, at + 1).filter(({ role }) => role === 'user' || role === 'assistant');
	// The last question is open. An older question is open only if its message has no other text.
	const settled = talk.findLastIndex((message, index) => {
		const text = messageText(message);
		const isOpen = text.includes(askMark) && (index === talk.length - 2 || !text.includes('\n\n'));
		return message.role === 'assistant' && talk[index + 1]?.role === 'user' && !isOpen;
	});
	const text = talk
		.slice(settled + 1)
		.filter(({ role }) => role === 'user')
		.map(messageText)
		.join('\n');
	const since = messages.slice(at + 1);
	const calls = since.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
	const done = calls.flatMap((call) => {
		const result = since.find((message) => message.role === 'tool' && message.toolCallId === call.id);
		if (result?.role !== 'tool') return [];
		return [{ call, output: withoutFence(messageText(result)), isError: result.isError === true }];
	});
	return { text, done };
}

function announce(tool: string, input: Readonly<Record<string, unknown>>): string {
	if (tool === 'read_skill') return `There is a skill for this: ${String(input.name)}. I will read it.`;
	return `I will use ${tool} for that.`;
}

function report({ call, output, isError }: Done): string {
	const input = isRecord(call.input) ? call.input : {};
	if (isError) return `${call.name} failed: ${output}`;
	if (call.name === 'read_skill')
		return `I have read the skill ${String(input.name)}. A language model would now follow it; I can show what it says:\n\n${takeExcerpt(output)}`;
	if (typeof input.expression === 'string') return `${input.expression} is ${output}.`;
	const numbers = Object.values(input).filter((value) => typeof value === 'number');
	const sign = findSign(call.name);
	if (numbers.length === 2 && sign !== undefined) return `${numbers.join(` ${sign} `)} is ${output}.`;
	return `${call.name} answered: ${takeExcerpt(output)}`;
}

/** Returns the first short paragraphs of a text. */
function takeExcerpt(text: string): string {
	const [first = '', ...rest] = text.trim().split(/\n\n+/);
	let shown = first.slice(0, 600);
	for (const paragraph of rest) {
		if (shown.length + paragraph.length > 500) return `${shown}\n\n…`;
		shown += `\n\n${paragraph}`;
	}
	return shown;
}

const exampleSum = 'What is 17 + 25?';

function introduce(system: string, tools: readonly Tool[]): string {
	const own = tools.map(({ name }) => name).filter((name) => !skillTools.has(name));
	const skills = [...system.matchAll(/^ {2}- (\S+): /gm)].map(([, name]) => name);
	return [
		'I am the demo model of Runlet: a small program with fixed rules, not a language model. I need no key and no network.',
		own.length > 0
			? `I can use these tools when a message calls for them: ${own.join(', ')}.`
			: 'I was given no tools.',
		...(skills.length > 0 ? [`I can read these skills: ${skills.join(', ')}.`] : []),
		...(planSum(exampleSum, tools).length > 0 ? [`Try: “${exampleSum}”`] : []),
	].join(' ');
}

function isSameCall(call: ToolCall, { tool, input }: PlannedCall): boolean {
	return call.name === tool && JSON.stringify(call.input) === JSON.stringify(input);
}

function* toDeltas({ text = '', toolCalls = [], stopReason, usage }: ChatReply): Generator<Parameters<OnDelta>[0]> {
	for (const [piece] of text.matchAll(/\s*\S+\s*?(?=\s|$)|\s+$/g)) yield { type: 'text', text: piece };
	for (const { id, name, input } of toolCalls) {
		yield { type: 'tool_use_start', id, name };
		for (const [partialInputJson] of JSON.stringify(input).matchAll(/.{1,12}/gs))
			yield { type: 'tool_use_input', id, partialInputJson };
		yield { type: 'tool_use_end', id };
	}
	yield { type: 'stop', reason: stopReason, usage };
}

const dimensions = 256;

const stopWords = new Set(
	'a an and are as at be by can do for from how i in is it of on or that the this to was what when where which who will with you your'.split(
		' ',
	),
);

/**
 * Makes a vector of length 1 for a text by counting words and their pieces of three letters. Texts with the same
 * words are near each other. The meaning of words does not count: `car` and `automobile` are far apart.
 */
export function demoEmbedding(text: string): readonly number[] {
	const vector = new Array<number>(dimensions).fill(0);
	for (const [word] of text
		.toLowerCase()
		.normalize('NFKD')
		.matchAll(/[\p{L}\p{N}]+/gu)) {
		if (stopWords.has(word)) continue;
		add(vector, word, 2);
		for (let at = 0; at + 3 <= word.length + 2; at++) add(vector, `_${word}_`.slice(at, at + 3), 1);
	}
	const length = Math.hypot(...vector);
	return length === 0 ? vector : vector.map((value) => value / length);
}

/** Adds a piece at the place of its hash (FNV-1a). One bit is the sign, so pieces at one place can cancel out. */
function add(vector: number[], piece: string, weight: number): void {
	let hash = 0x811c9dc5;
	for (let at = 0; at < piece.length; at++) hash = Math.imul(hash ^ piece.charCodeAt(at), 0x01000193);
	const place = (hash >>> 1) % dimensions;
	vector[place] = (vector[place] ?? 0) + (hash & 1 ? weight : -weight);
}
