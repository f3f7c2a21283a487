import {
	type CallOptions,
	type ChatReply,
	countTokensHeuristic,
	estimateSystemTokens,
	estimateToolsTokens,
	type Message,
	makeUsage,
	messageText,
	type OnDelta,
	type ProviderRegistration,
} from '../chat/index.ts';
import { isRecord } from '../ground/json.ts';
import type { Tool, ToolCall } from '../tool/index.ts';
import { getProperties, getRequired } from '../tool/schema.ts';
import { demoEmbedding } from './demo-embedding.ts';
import { toForm } from './demo-output.ts';
import { findSum } from './demo-sum.ts';

export interface DemoOptions {
	/** Pause between two deltas, in milliseconds, so that a person sees the stream; 0. */
	readonly delayMs?: number;
}

/**
 * The model that needs no key and no network (README, "Models"): deterministic, and honest about what it is. It uses
 * the tools and skills that it is offered: answers arithmetic with the arithmetic tool, reads a skill whose triggers a
 * message has, asks when a required argument is missing, fills in a form. Serves the model `demo`.
 */
export function demo({ delayMs = 0 }: DemoOptions = {}): ProviderRegistration {
	const reply = (
		messages: readonly Message[],
		system: string | undefined,
		tools: readonly Tool[] | undefined,
		{ maxOutputTokens = Number.POSITIVE_INFINITY, outputSchema }: CallOptions = {},
	): ChatReply => {
		const { text: said, toolCalls } = answer(messages, system ?? '', tools ?? []);
		const text = toolCalls.length > 0 ? said : toForm(said, outputSchema, system);
		const inputTokens = countTokensHeuristic(messages) + estimateSystemTokens(system) + estimateToolsTokens(tools);
		const outputTokens = Math.ceil((text.length + JSON.stringify(toolCalls).length) / 4);
		const usage = makeUsage(
			{ inputTokens, outputTokens: Math.min(outputTokens, maxOutputTokens), costUsd: 0 },
			'demo',
			'demo',
		);
		if (outputTokens > maxOutputTokens)
			return { text: text.slice(0, 4 * maxOutputTokens), stopReason: 'max_tokens', usage };
		return { text, toolCalls, stopReason: toolCalls.length > 0 ? 'tool_use' : 'end_turn', usage };
	};
	return {
		variant: 'demo',
		displayName: 'Demo',
		detect: (model) => model === 'demo' || model.startsWith('demo/'),
		meta: { contextWindow: 1_000_000 },
		computePrice: () => 0,
		embedFn: async (_model, texts) => texts.map(demoEmbedding),
		chatFn: async (_model, messages, system, tools, options) => reply(messages, system, tools, options),
		chatStreamFn: async (_model, messages, system, tools, onDelta, options) => {
			const whole = reply(messages, system, tools, options);
			for (const delta of toDeltas(whole)) {
				if (options?.signal?.aborted) break;
				await onDelta(delta);
				if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
			}
			return whole;
		},
	};
}

/** Something to do for a message: a call, or, where an argument is missing, a question. */
type Action = { readonly tool: string; readonly input: Readonly<Record<string, unknown>> } | { readonly ask: string };

function answer(
	messages: readonly Message[],
	system: string,
	tools: readonly Tool[],
): { text: string; toolCalls: ToolCall[] } {
	const { text, done } = readTurn(messages);
	const actions = planActions(text, system, tools);
	const todo = actions.find((action) => 'tool' in action && !done.some(({ call }) => isSameCall(call, action)));
	if (todo !== undefined && 'tool' in todo) {
		const id = `demo_${messages.length}_${done.length + 1}`;
		return { text: announce(todo.tool, todo.input), toolCalls: [{ id, name: todo.tool, input: todo.input }] };
	}
	const parts = [...done.map(report), ...actions.flatMap((action) => ('ask' in action ? [action.ask] : []))];
	return { text: parts.length > 0 ? parts.join('\n\n') : introduce(system, tools), toolCalls: [] };
}

interface Done {
	readonly call: ToolCall;
	readonly output: string;
	readonly isError: boolean;
}

/** What the user wants now, and which calls were answered since. A reply to a question is read with what was said before it. */
function readTurn(messages: readonly Message[]): { text: string; done: Done[] } {
	const at = messages.findLastIndex(({ role }) => role === 'user');
	const said = messages.slice(0, at + 1).filter(({ role }) => role === 'user' || role === 'assistant');
	// A question just asked is open; one before it only if nothing else was said with it, so a new subject drops it.
	const settled = said.findLastIndex((message, index) => {
		const text = messageText(message);
		const open = text.includes(askMark) && (index === said.length - 2 || !text.includes('\n\n'));
		return message.role === 'assistant' && said[index + 1]?.role === 'user' && !open;
	});
	const text = said
		.slice(settled + 1)
		.filter(({ role }) => role === 'user')
		.map(messageText)
		.join('\n');
	const since = messages.slice(at + 1);
	const calls = since.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
	const done = calls.flatMap((call) => {
		const result = since.find((message) => message.role === 'tool' && message.toolCallId === call.id);
		if (result?.role !== 'tool') return [];
		return [{ call, output: messageText(result), isError: result.isError === true }];
	});
	return { text, done };
}

const askMark = 'I still need';
const skillTools = new Set(['list_skills', 'read_skill', 'apply_skill', 'search_skills', 'read_skill_file']);

function planActions(message: string, system: string, tools: readonly Tool[]): Action[] {
	// What a person asks stands in the first lines; the rules below are not made for a book.
	const text = message.slice(0, 2_000);
	const sums = arithmetic(text, tools);
	const used = new Set(sums.flatMap((action) => ('tool' in action ? [action.tool] : [])));
	const others = tools
		.filter(({ name }) => !skillTools.has(name) && !used.has(name))
		.flatMap((tool) => planUse(tool, text));
	return [...planSkillReads(text, system, tools), ...sums, ...others];
}

function planSkillReads(text: string, system: string, tools: readonly Tool[]): Action[] {
	if (!tools.some(({ name }) => name === 'read_skill')) return [];
	const lower = text.toLowerCase();
	return [...system.matchAll(/^ {2}- (\S+): .*? \(when: ([^)]*)\)/gm)]
		.filter(([, , when = '']) =>
			when.split(', ').some((trigger) => trigger !== '' && lower.includes(trigger.toLowerCase())),
		)
		.map(([, name = '']) => ({ tool: 'read_skill', input: { name } }));
}

const operators: Readonly<Record<string, { readonly words: RegExp; readonly tool: RegExp }>> = {
	'+': { words: /\bplus\b/gi, tool: /\b(add|sum|plus)/i },
	'-': { words: /\bminus\b/gi, tool: /\b(sub|subtract|minus|difference)/i },
	'*': { words: /\b(times|multiplied by)\b|×/gi, tool: /\b(mul|multiply|times|product)/i },
	'/': { words: /\bdivided by\b|÷/gi, tool: /\b(div|divide|quotient)/i },
};

/** A sum in the message, given to a tool that takes an expression, or to one that takes two numbers and is named for it. */
function arithmetic(text: string, tools: readonly Tool[]): Action[] {
	let plain = text.replace(/\d{4}-\d{2}-\d{2}/g, ' ');
	for (const [sign, { words }] of Object.entries(operators)) plain = plain.replace(words, sign);
	const expression = findSum(plain);
	if (expression === undefined) return [];
	const calculator = tools.find(({ inputSchema }) => 'expression' in getProperties(inputSchema));
	if (calculator !== undefined) return [{ tool: calculator.name, input: { expression } }];
	const [, a, sign = '', b] = /^(-?[\d.]+)\s*([-+*/])\s*(-?[\d.]+)$/.exec(expression) ?? [];
	const tool = tools.find(
		(one) =>
			operators[sign]?.tool.test(toWords(`${one.name} ${one.description ?? ''}`)) && findNumberNames(one).length === 2,
	);
	if (tool === undefined) return [];
	const [x = '', y = ''] = findNumberNames(tool);
	return [{ tool: tool.name, input: { [x]: Number(a), [y]: Number(b) } }];
}

function findNumberNames({ inputSchema }: Tool): string[] {
	return getRequired(inputSchema).filter((name) =>
		['number', 'integer'].includes(readType(getProperties(inputSchema)[name])),
	);
}

/** A call of a tool whose name a message mentions, or a question for what it still needs. */
function planUse(tool: Tool, text: string): Action[] {
	const mentioned = toWords(tool.name)
		.split(' ')
		.some((word) => word.length > 3 && new RegExp(`\\b${word}`, 'i').test(text));
	if (!mentioned || (/time|clock|date/i.test(tool.name) && !/\b(time|clock|date|today|day)\b/i.test(text))) return [];
	const input: Record<string, unknown> = {};
	const taken = new Set<string>();
	const required = getRequired(tool.inputSchema);
	for (const [name, property] of Object.entries(getProperties(tool.inputSchema))) {
		const value = chooseArgument(name, property, text, required.includes(name), taken);
		if (value !== undefined) input[name] = value;
	}
	const missing = required.filter((name) => !(name in input));
	if (missing.length === 0) return [{ tool: tool.name, input }];
	return [
		{ ask: `To use ${tool.name} ${askMark}: ${missing.map((name) => toWords(name)).join(', ')}. Please tell me.` },
	];
}

/** The value of an argument, as far as a message says it: by name, by a quotation, by its type. */
function chooseArgument(name: string, property: unknown, text: string, required: boolean, taken: Set<string>): unknown {
	const type = readType(property);
	const label = toWords(name).replaceAll(' ', '\\s*');
	const named = new RegExp(`\\b${label}\\b\\s*(?:is|=|:)?\\s*["“]?([^\\s"”,;?!]+)`, 'i')
		.exec(text)?.[1]
		?.replace(/\.$/, '');
	if (type === 'number' || type === 'integer') {
		const found =
			named && !Number.isNaN(Number(named))
				? named
				: required
					? findFirstFree(text, /(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])/g, taken)
					: undefined;
		return found === undefined ? undefined : Number(found);
	}
	if (type !== 'string') return undefined;
	if (/zone/i.test(name)) return timeZoneIn(text);
	const choices = isRecord(property) && Array.isArray(property.enum) ? property.enum : undefined;
	if (choices !== undefined)
		return choices.find((choice) => typeof choice === 'string' && text.toLowerCase().includes(choice.toLowerCase()));
	if (/id$|number$|order/i.test(name)) return findFirstFree(text, /\b[A-Za-z]*-?#?\d[\w-]*\b/g, taken);
	const quoted = findFirstFree(text, /["“]([^"”]+)["”]/g, taken);
	return quoted?.replace(/^["“]|["”]$/g, '') ?? (required ? named : undefined);
}

function findFirstFree(text: string, pattern: RegExp, taken: Set<string>): string | undefined {
	for (const [found] of text.matchAll(pattern)) {
		if (taken.has(found)) continue;
		taken.add(found);
		return found;
	}
	return undefined;
}

function timeZoneIn(text: string): string | undefined {
	const plain = text.toLowerCase();
	return Intl.supportedValuesOf('timeZone').find((zone) =>
		plain.includes((zone.split('/').at(-1) ?? zone).replaceAll('_', ' ').toLowerCase()),
	);
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
	const sign = Object.entries(operators).find(([, { tool }]) => tool.test(toWords(call.name)))?.[0];
	if (numbers.length === 2 && sign !== undefined) return `${numbers.join(` ${sign} `)} is ${output}.`;
	return `${call.name} answered: ${takeExcerpt(output)}`;
}

/** The first paragraphs of a text, as many as are short. */
function takeExcerpt(text: string): string {
	const [first = '', ...rest] = text.trim().split(/\n\n+/);
	let shown = first.slice(0, 600);
	for (const paragraph of rest) {
		if (shown.length + paragraph.length > 500) return `${shown}\n\n…`;
		shown += `\n\n${paragraph}`;
	}
	return shown;
}

function introduce(system: string, tools: readonly Tool[]): string {
	const own = tools.map(({ name }) => name).filter((name) => !skillTools.has(name));
	const skills = [...system.matchAll(/^ {2}- (\S+): /gm)].map(([, name]) => name);
	return [
		'I am the demo model of Runlet: a small program with fixed rules, not a language model. I need no key and no network.',
		own.length > 0
			? `I can use these tools when a message calls for them: ${own.join(', ')}.`
			: 'I was given no tools.',
		...(skills.length > 0 ? [`I can read these skills: ${skills.join(', ')}.`] : []),
		'Try: “What is 17 + 25?”',
	].join(' ');
}

function isSameCall(
	call: ToolCall,
	action: { readonly tool: string; readonly input: Readonly<Record<string, unknown>> },
): boolean {
	return call.name === action.tool && JSON.stringify(call.input) === JSON.stringify(action.input);
}

/** A name as words: `issue_refund`, `issueRefund` and `shop/issue-refund` all end in `issue refund`. */
function toWords(name: string): string {
	return name
		.replace(/([a-z])([A-Z])/g, '$1 $2')
		.split(/[^a-zA-Z0-9]+/)
		.join(' ')
		.toLowerCase()
		.trim();
}

function readType(property: unknown): string {
	return isRecord(property) && typeof property.type === 'string' ? property.type : '';
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
