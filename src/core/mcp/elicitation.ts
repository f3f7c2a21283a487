import * as v from 'valibot';
import { isRecord } from '../base/json.ts';
import { truncateText } from '../base/text.ts';
import { parseToolInput } from '../tool/call.ts';
import { askUser } from '../tool/index.ts';
import { checkOutput } from '../tool/schema.ts';
import type { McpServer } from './server.ts';

const optionalText = v.optional(v.string());
const option = v.object({ const: v.string(), title: optionalText });
const choices = v.object({
	enum: v.optional(v.array(v.string())),
	oneOf: v.optional(v.array(option)),
	anyOf: v.optional(v.array(option)),
});

/** A field of a form. The user interface also gets the unknown keywords of a field. */
const field = v.looseObject({
	...choices.entries,
	type: optionalText,
	title: optionalText,
	description: optionalText,
	default: v.optional(v.unknown()),
	enumNames: v.optional(v.array(v.string())),
	items: v.optional(choices),
});
type Field = v.InferOutput<typeof field>;

const form = v.object({
	mode: v.optional(v.literal('form'), 'form'),
	message: v.string(),
	requestedSchema: v.looseObject({
		properties: v.optional(v.record(v.string(), field), {}),
		required: v.optional(v.array(v.string())),
	}),
});
/** The address of a page: only http or https, because an address such as `javascript:` would run as code. */
const page = v.pipe(
	v.string(),
	v.check((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)),
);
const link = v.object({ mode: v.literal('url'), message: v.string(), url: page });

/** A question of a server to a person: a form, or a link to open. */
export const elicitation = v.union([link, form]);
export type Elicitation = v.InferOutput<typeof elicitation>;

/** An answer in the form of the protocol. */
export interface ElicitAnswer {
	readonly action: 'accept' | 'decline' | 'cancel';
	readonly content?: Record<string, string | number | boolean | string[]>;
}

const longestQuestion = 4_000;

/** Asks a person the question of a server. `problem` is the mistake in an earlier answer. */
export function askElicitation({ name }: McpServer, asked: Elicitation, resume: unknown, problem?: string) {
	const intro = problem === undefined ? '' : `${problem}\n\n`;
	const text = `${intro}The server ${name} asks: ${truncateText(asked.message, longestQuestion)}`;
	if (asked.mode === 'url') {
		const question = `${text}\nOpen this link, then answer "done", or "decline": ${asked.url}`;
		return askUser(question, { kind: 'url', server: name, url: asked.url }, resume);
	}
	const schema = asked.requestedSchema;
	const question = `${text}\n${describeForm(schema.properties)}`;
	return askUser(question, { kind: 'form', server: name, schema }, resume);
}

function describeForm(properties: Readonly<Record<string, Field>>): string {
	const named = Object.entries(properties);
	const [first] = named;
	if (first === undefined) return 'Answer "yes", or "decline".';
	if (named.length === 1) return `Answer with ${describeField(first)}, or "decline".`;
	return `Answer with a JSON object, or "decline". Its fields:\n${named.map((entry) => `- ${describeField(entry)}`).join('\n')}`;
}

function describeField([name, about]: readonly [string, Field]): string {
	const values = listChoices(about).map(({ value, title }) =>
		title === undefined || title === value ? value : `${value} (${title})`,
	);
	const kind =
		values.length > 0 ? `${about.type === 'array' ? 'some' : 'one'} of ${values.join(', ')}` : (about.type ?? 'a text');
	const more = truncateText(about.description ?? about.title ?? '', 300);
	return `${truncateText(name, 100)} (${truncateText(kind, 500)})${more === '' ? '' : `: ${more}`}`;
}

/**
 * Reads a person's answer: `decline` or `cancel`, the value of the only field, a JSON object with the fields, or the
 * protocol's `{"action": …, "content": …}`. Returns a problem if the answer does not fit the form.
 */
export async function readElicitAnswer(
	asked: Elicitation,
	answer: string,
): Promise<ElicitAnswer | { readonly problem: string }> {
	const text = answer.trim();
	const word = text.toLowerCase().replace(/[.!]$/, '');
	if (word === 'decline' || word === 'cancel') return { action: word };
	const parsed = text.startsWith('{') ? parseToolInput(text) : undefined;
	const json = isRecord(parsed) ? parsed : undefined;
	const action = json?.action;
	if (action === 'decline' || action === 'cancel') return { action };
	if (asked.mode === 'url') return word === 'no' ? { action: 'decline' } : { action: 'accept' };
	const { properties } = asked.requestedSchema;
	const names = Object.keys(properties);
	if (names.length === 0) return word === 'no' ? { action: 'decline' } : { action: 'accept', content: {} };
	const isWrapped = action === 'accept' && isRecord(json?.content);
	const values = isWrapped ? json?.content : json;
	const content = isRecord(values) ? readFields(properties, values) : readOnlyField(properties, text);
	if (content === undefined) return { problem: 'That is no JSON object.' };
	const checked = await checkOutput({ type: 'object', ...asked.requestedSchema }, content);
	if ('issues' in checked)
		return { problem: `That does not fit: ${truncateText(checked.issues.slice(0, 5).join('; '), 500)}.` };
	return { action: 'accept', content: v.parse(fields, content) };
}

const fields = v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.array(v.string())]));

/** Converts the values of a form to the types of its fields, and adds defaults. */
function readFields(
	properties: Readonly<Record<string, Field>>,
	values: Record<string, unknown>,
): Record<string, unknown> {
	const entries = Object.entries(properties).flatMap(([name, about]) => {
		const value = Object.hasOwn(values, name) ? values[name] : about.default;
		if (value === undefined || value === null) return [];
		return [[name, typeof value === 'string' ? readValue(about, value) : value] as const];
	});
	return Object.fromEntries(entries);
}

function readOnlyField(properties: Readonly<Record<string, Field>>, text: string): Record<string, unknown> | undefined {
	const [only, ...others] = Object.entries(properties);
	if (only === undefined || others.length > 0) return undefined;
	const [name, about] = only;
	if (text === '' && about.default !== undefined) return { [name]: about.default };
	return { [name]: readValue(about, text) };
}

/** Reads a text as the value of a field. An unreadable value stays a text, which the check of the form reports. */
function readValue(about: Field, text: string): unknown {
	const known = listChoices(about);
	const choose = (answer: string) => {
		const word = answer.trim();
		const isWord = (name = '') => name.toLowerCase() === word.toLowerCase();
		return known.find(({ value, title }) => isWord(value) || isWord(title))?.value ?? word;
	};
	if (about.type === 'array') return text.split(',').map(choose).filter(Boolean);
	if (known.length > 0) return choose(text);
	if (about.type === 'boolean') {
		if (/^(yes|true|y|1)$/i.test(text)) return true;
		return /^(no|false|n|0)$/i.test(text) ? false : text;
	}
	if (about.type === 'number' || about.type === 'integer')
		return /^\s*[-+.\d]/.test(text) && !Number.isNaN(Number(text)) ? Number(text) : text;
	return text;
}

function listChoices(about: Field): readonly { value: string; title?: string }[] {
	const { enum: plain = [], enumNames = [], oneOf = [], anyOf = [], items } = about;
	const titled = [...oneOf, ...anyOf].map(({ const: value, title }) => ({ value, title }));
	const named = plain.map((value, at) => ({ value, title: enumNames[at] }));
	return [...named, ...titled, ...(items === undefined ? [] : listChoices(items))];
}
