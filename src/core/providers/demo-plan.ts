import { isRecord } from '../base/json.ts';
import type { Tool } from '../tool/index.ts';
import { getProperties, getRequired } from '../tool/schema.ts';
import { type Done, planFiles } from './demo-files.ts';
import { planReading } from './demo-web.ts';

/** An action for a message: a call, or a question if an argument is missing. */
export type Action =
	| { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
	| { readonly ask: string };

/** The beginning of a question for a missing argument. */
export const askMark = 'I still need';
export const skillTools = new Set(['list_skills', 'read_skill', 'apply_skill', 'search_skills', 'read_skill_file']);

/** Decides by fixed rules what a message asks for. */
export function planActions(message: string, system: string, tools: readonly Tool[], done: readonly Done[]): Action[] {
	// Reads only the first lines: these rules are not made for a book.
	const text = message.slice(0, 2_000);
	const files = planFiles(message, tools, done);
	if (files.length > 0) return [...planSkillReads(text, system, tools), ...files];
	const pages = planReading(text, tools, done);
	if (pages.length > 0) return [...planSkillReads(text, system, tools), ...pages];
	const sums = planSum(text, tools);
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

/**
 * Calls a tool for a sum in the message: a tool that takes an expression, or a tool for two numbers with a fitting
 * name.
 */
export function planSum(text: string, tools: readonly Tool[]): Action[] {
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

/** Calls a tool that the message names, or asks for a missing argument. */
function planUse(tool: Tool, text: string): Action[] {
	const mentioned = toWords(tool.name)
		.split(' ')
		.some((word) => word.length > 3 && new RegExp(`\\b${word}`, 'i').test(text));
	if (!mentioned || (/time|clock|date/i.test(tool.name) && !/\b(time|clock|date|today|day)\b/i.test(text))) return [];
	const input: Record<string, unknown> = {};
	const properties = Object.entries(getProperties(tool.inputSchema));
	// A quotation behind the name of an argument is no other argument's.
	const taken = new Set(properties.flatMap(([name]) => findNamedQuotation(name, text) ?? []));
	const required = getRequired(tool.inputSchema);
	for (const [name, property] of properties) {
		const value = chooseArgument(name, property, text, required.includes(name), taken);
		if (value !== undefined) input[name] = value;
	}
	const missing = required.filter((name) => !(name in input));
	if (missing.length === 0) return [{ tool: tool.name, input }];
	return [
		{ ask: `To use ${tool.name} ${askMark}: ${missing.map((name) => toWords(name)).join(', ')}. Please tell me.` },
	];
}

/** Finds the value of an argument in a message: by its name, in quotes, or by its type. */
function chooseArgument(name: string, property: unknown, text: string, required: boolean, taken: Set<string>): unknown {
	const type = readType(property);
	const named = new RegExp(`${toLabel(name)}["“]?([^\\s"”,;?!]+)`, 'i').exec(text)?.[1]?.replace(/\.$/, '');
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
	if (/zone/i.test(name)) return findTimeZone(text);
	const choices = isRecord(property) && Array.isArray(property.enum) ? property.enum : undefined;
	if (choices !== undefined)
		return choices.find((choice) => typeof choice === 'string' && text.toLowerCase().includes(choice.toLowerCase()));
	if (/id$|number$|order/i.test(name)) return findFirstFree(text, /\b[A-Za-z]*-?#?\d[\w-]*\b/g, taken);
	const quoted = findNamedQuotation(name, text) ?? findFirstFree(text, /["“]([^"”]+)["”]/g, taken);
	return quoted?.replace(/^["“]|["”]$/g, '') ?? (required ? named : undefined);
}

/** Returns the pattern of an argument's name with what may stand behind it. */
function toLabel(name: string): string {
	return `\\b${toWords(name).replaceAll(' ', '\\s*')}\\b\\s*(?:is|=|:)?\\s*`;
}

/** Finds the quotation directly behind an argument's name, with its quotes. */
function findNamedQuotation(name: string, text: string): string | undefined {
	return new RegExp(`${toLabel(name)}(["“][^"”]+["”])`, 'i').exec(text)?.[1];
}

function findFirstFree(text: string, pattern: RegExp, taken: Set<string>): string | undefined {
	for (const [found] of text.matchAll(pattern)) {
		if (taken.has(found)) continue;
		taken.add(found);
		return found;
	}
	return undefined;
}

function findTimeZone(text: string): string | undefined {
	const plain = text.toLowerCase();
	return Intl.supportedValuesOf('timeZone').find((zone) =>
		plain.includes((zone.split('/').at(-1) ?? zone).replaceAll('_', ' ').toLowerCase()),
	);
}

/** Returns the sign that belongs to a tool's name. */
export function findSign(tool: string): string | undefined {
	return Object.entries(operators).find(([, one]) => one.tool.test(toWords(tool)))?.[0];
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

/** Which kind of token may follow which, and what it is then. */
const steps: Readonly<Record<string, Readonly<Record<string, string>>>> = {
	number: { start: 'number', open: 'number', minus: 'number', operator: 'number' },
	'(': { start: 'open', open: 'open', operator: 'open' },
	')': { number: 'closed', closed: 'closed' },
	'-': { start: 'minus', open: 'minus', operator: 'minus', number: 'operator', closed: 'operator' },
	operator: { number: 'operator', closed: 'operator' },
};

/**
 * Finds the first sum in a text, such as `(2 + 3) * -4`. Reads it token by token, because a regular expression would
 * try too many ways on a long text.
 */
export function findSum(text: string): string | undefined {
	let state = 'start';
	let begin = 0;
	let end: number | undefined;
	let hasOperator = false;
	for (const { 0: token, index } of text.matchAll(/\d[\d.]*|[^\d\s]/g)) {
		const step = steps[/^\d/.test(token) ? 'number' : /^[+*/^%]/.test(token) ? 'operator' : token];
		if (step?.[state] === undefined) {
			if (end !== undefined) break;
			state = 'start';
			hasOperator = false;
		}
		if (state === 'start') begin = index;
		state = step?.[state] ?? 'start';
		hasOperator ||= state === 'operator';
		if (hasOperator && (state === 'number' || state === 'closed')) end = index + token.length;
	}
	return end === undefined ? undefined : text.slice(begin, end);
}
