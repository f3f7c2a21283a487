import { isRecord } from '../base/json.ts';
import type { Tool } from '../tool/index.ts';
import { getProperties, getRequired } from '../tool/schema.ts';
import { type Done, type PlannedCall, planFiles } from './demo-files.ts';
import { planOrders } from './demo-orders.ts';
import { planReading } from './demo-web.ts';

/** An action for a message: a call, or a question if an argument is missing. */
export type Action = PlannedCall | { readonly ask: string };

/** A text that each question for a missing argument contains. */
export const askMark = 'I still need';
export const skillTools = new Set(['list_skills', 'read_skill', 'apply_skill', 'search_skills', 'read_skill_file']);

/** Plans the actions for a message by fixed rules. Most rules read only the beginning of the message. */
export function planActions(message: string, system: string, tools: readonly Tool[], done: readonly Done[]): Action[] {
	const text = message.slice(0, 2_000);
	const reads = planSkillReads(text, system, tools);
	const files = planFiles(message, tools, done);
	if (files.length > 0) return [...reads, ...files];
	const pages = planReading(text, tools, done);
	const orders = planOrders(tools, done);
	if (pages.length > 0) return [...reads, ...pages, ...orders];
	const sums = planSum(text, tools);
	const used = new Set(sums.flatMap((action) => ('tool' in action ? [action.tool] : [])));
	const others = tools
		.filter(({ name }) => !skillTools.has(name) && !used.has(name))
		.flatMap((tool) => planUse(tool, text));
	return [...reads, ...sums, ...others, ...orders];
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

/** Calls a tool for a sum in the message: a tool with an `expression`, or a fitting tool with two numbers. */
export function planSum(text: string, tools: readonly Tool[]): Action[] {
	let plain = text.replace(/\d{4}-\d{2}-\d{2}/g, ' ');
	for (const [sign, { words }] of Object.entries(operators)) plain = plain.replace(words, sign);
	const expression = findSum(plain);
	if (expression === undefined) return [];
	const calculator = tools.find(({ inputSchema }) => 'expression' in getProperties(inputSchema));
	if (calculator !== undefined) return [{ tool: calculator.name, input: { expression } }];
	const [, a, sign = '', b] = /^(-?[\d.]+)\s*([-+*/])\s*(-?[\d.]+)$/.exec(expression) ?? [];
	const tool = tools.find(
		(tool) =>
			operators[sign]?.tool.test(toWords(`${tool.name} ${tool.description ?? ''}`)) &&
			findNumberNames(tool).length === 2,
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

/** Calls a tool that the message names, or asks for a missing argument. */
function planUse(tool: Tool, text: string): Action[] {
	const isNamed = toWords(tool.name)
		.split(' ')
		.some((word) => word.length > 3 && new RegExp(`\\b${word}`, 'i').test(text));
	if (!isNamed || (/time|clock|date/i.test(tool.name) && !/\b(time|clock|date|today|day)\b/i.test(text))) return [];
	const input: Record<string, unknown> = {};
	const properties = Object.entries(getProperties(tool.inputSchema));
	// A quotation after the name of an argument belongs to that argument.
	const used = new Set(properties.flatMap(([name]) => findNamedQuotation(name, text) ?? []));
	const required = getRequired(tool.inputSchema);
	for (const [name, property] of properties) {
		const value = chooseArgument(name, property, text, required.includes(name), used);
		if (value !== undefined) input[name] = value;
	}
	const missing = required.filter((name) => !(name in input));
	if (missing.length === 0) return [{ tool: tool.name, input }];
	return [
		{ ask: `To use ${tool.name} ${askMark}: ${missing.map((name) => toWords(name)).join(', ')}. Please tell me.` },
	];
}

/** Finds the value of an argument in a message: by its name, in quotes, or by its type. */
function chooseArgument(name: string, property: unknown, text: string, required: boolean, used: Set<string>): unknown {
	const type = readType(property);
	const named = new RegExp(`${toLabel(name)}["“]?([^\\s"”,;?!]+)`, 'i').exec(text)?.[1]?.replace(/\.$/, '');
	if (type === 'number' || type === 'integer') {
		const found =
			named && !Number.isNaN(Number(named))
				? named
				: required
					? findUnused(text, /(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])/g, used)
					: undefined;
		return found === undefined ? undefined : Number(found);
	}
	if (type !== 'string') return undefined;
	if (/zone/i.test(name)) return findTimeZone(text);
	const choices = isRecord(property) && Array.isArray(property.enum) ? property.enum : undefined;
	if (choices !== undefined)
		return choices.find((choice) => typeof choice === 'string' && text.toLowerCase().includes(choice.toLowerCase()));
	if (/id$|number$|order/i.test(name)) return findUnused(text, /\b[A-Za-z]*-?#?\d[\w-]*\b/g, used);
	const quoted = findNamedQuotation(name, text) ?? findUnused(text, /["“]([^"”]+)["”]/g, used);
	return quoted?.replace(/^["“]|["”]$/g, '') ?? (required ? named : undefined);
}

/** Returns the pattern of an argument's name and the sign or word after it. */
function toLabel(name: string): string {
	return `\\b${toWords(name).replaceAll(' ', '\\s*')}\\b\\s*(?:is|=|:)?\\s*`;
}

/** Finds the quotation directly after an argument's name, with its quotes. */
function findNamedQuotation(name: string, text: string): string | undefined {
	return new RegExp(`${toLabel(name)}(["“][^"”]+["”])`, 'i').exec(text)?.[1];
}

function findUnused(text: string, pattern: RegExp, used: Set<string>): string | undefined {
	const found = text.match(pattern)?.find((match) => !used.has(match));
	if (found !== undefined) used.add(found);
	return found;
}

function findTimeZone(text: string): string | undefined {
	const plain = text.toLowerCase();
	return Intl.supportedValuesOf('timeZone').find((zone) =>
		plain.includes((zone.split('/').at(-1) ?? zone).replaceAll('_', ' ').toLowerCase()),
	);
}

/** Returns the sign of a tool's operation. */
export function findSign(name: string): string | undefined {
	return Object.entries(operators).find(([, { tool }]) => tool.test(toWords(name)))?.[0];
}

/** Converts a name to words: `issue_refund`, `issueRefund` and `shop/issue-refund` all end in `issue refund`. */
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

const operand = String.raw`(?:\(\s*)*(?:-\s*)?\d[\d.]*(?:\s*\))*`;
const sum = new RegExp(String.raw`${operand}(?:\s*[-+*/^%]\s*${operand})+`);

/** Finds the first sum in a text, such as `(2 + 3) * -4`. */
export function findSum(text: string): string | undefined {
	return sum.exec(text)?.[0];
}
