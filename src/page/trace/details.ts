/** The details of a span: what went in, what came out, its time, tokens and cost. */

import type { Client } from '../../client/index.ts';
import type { Message, Usage } from '../../client/types.ts';
import { describeCost, toText } from '../../client/words.ts';
import { button, type Child, configure, createCopy, element, shorten, withoutTurns } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';
import { describeTime } from '../parts/time.ts';
import { readSetup } from './setup.ts';
import type { Span, SpanContent, TracedRun } from './spans.ts';

/** The most characters that are shown of a text. */
const longestText = 20_000;
/** The number of messages of a prompt that are shown at first: the newest. */
const newestMessages = 6;

type Fact = readonly [name: string, value: string];
type Turn = Extract<SpanContent, { type: 'turn' }>;

interface Shown {
	readonly run: TracedRun;
	readonly span: Span;
	/** Returns the whole address at which the page shows the span. */
	readonly toAddress: () => string;
}

export function createDetails(client: Client, visit: Visit, { run, span, toAddress }: Shown): HTMLElement {
	const { content } = span;
	const copy = createCopy('Copy a link to this span', toAddress);
	const facts = createFacts([...listTimes(run, span), ...(content?.type === 'turn' ? listTurnFacts(content) : [])]);
	const parts = content === undefined ? [] : createParts(client, visit, content);
	return element('div', 'details', element('div', 'details-head', facts, copy), ...parts);
}

const clock = new Intl.DateTimeFormat('en', {
	...({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const),
	fractionalSecondDigits: 3,
});

function listTimes(run: TracedRun, { start, end, kind, state }: Span): Fact[] {
	if (kind === 'provider') return [['Time', 'within the turn, at the provider']];
	const began = `${clock.format(start)}, ${describeTime(start - run.start)} after the run`;
	const took = end === undefined ? state : describeTime(end - start);
	return [
		['Began', began],
		['Took', took],
	];
}

function listTurnFacts({ reply: { turn } }: Turn): Fact[] {
	if (turn === undefined) return [];
	const { model, stopReason, usage, cacheMiss, firstMs, retries } = turn;
	return [
		['First token', firstMs === undefined ? 'not recorded' : `after ${describeTime(firstMs)}`],
		['Tries', retries === undefined ? '1' : `${retries + 1}, ${retries} failed`],
		['Model', usage.provider === undefined ? model : `${model} (${usage.provider})`],
		['Ended', stopReason],
		...listTokens(usage),
		...(cacheMiss === undefined ? [] : [['Cache missed', cacheMiss] as const]),
		['Cost', describeCost(usage) || '$0'],
	];
}

function listTokens({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens, units = {} }: Usage): Fact[] {
	const count = (tokens: number | undefined) => tokens?.toLocaleString('en') ?? 'not reported';
	const share = inputTokens && cachedInputTokens !== undefined ? (100 * cachedInputTokens) / inputTokens : undefined;
	const cached = share === undefined ? count(cachedInputTokens) : `${count(cachedInputTokens)}, ${Math.round(share)}%`;
	return [
		['Tokens in', count(inputTokens)],
		['From cache', cached],
		['Tokens out', count(outputTokens)],
		['Reasoning', count(reasoningTokens)],
		...Object.entries(units).map(([name, number]) => [name.replaceAll('_', ' '), number.toLocaleString('en')] as const),
	];
}

function createFacts(facts: readonly Fact[]): HTMLElement {
	return element(
		'dl',
		'facts',
		...facts.map(([name, value]) => element('div', '', element('dt', '', name), element('dd', '', value))),
	);
}

function createParts(client: Client, visit: Visit, content: SpanContent): HTMLElement[] {
	switch (content.type) {
		case 'turn':
			return [
				createPart('Output', ...listOutput(content.reply)),
				createPart('Prompt', createPrompt(content), createSetup(client, visit, content)),
			];
		case 'call': {
			const { call, result } = content;
			const changed = result?.ranWith === undefined ? [] : [createPart('Ran with', createValue(result.ranWith))];
			const output = result === undefined ? element('p', 'about', 'No result yet.') : createValue(result.content);
			const title = result?.isError === true ? 'Error' : 'Output';
			return [createPart('Input', createValue(call.input)), ...changed, createPart(title, output)];
		}
		case 'provider': {
			const { input, output } = content.call;
			const none = element('p', 'about', 'The provider reported none.');
			return [
				createPart('Input', input === undefined ? none : createValue(input)),
				createPart('Output', output === undefined ? element('p', 'about', 'No output.') : createValue(output)),
			];
		}
	}
}

function createPart(title: string, ...children: readonly Child[]): HTMLElement {
	return element('section', 'part', element('h4', '', title), ...children);
}

function listOutput({ content, reasoning, toolCalls = [] }: Turn['reply']): Child[] {
	const thought = reasoning
		? element('details', '', element('summary', '', 'Reasoning'), createBox(reasoning))
		: undefined;
	const calls = toolCalls.map(({ name, input }) =>
		element('div', 'sent', createRole(`calls ${name}`), createValue(input)),
	);
	const isEmpty = content === '' && calls.length === 0;
	const text = content === '' ? undefined : createBox(content);
	return [thought, text, ...calls, isEmpty ? element('p', 'about', 'The model returned nothing.') : undefined];
}

/** Shows the messages that the model was sent, the newest at first. */
function createPrompt({ messages, place }: Turn): HTMLElement {
	const sent = listSent(messages.slice(0, place));
	const first = Math.max(0, sent.length - newestMessages);
	const list = element('div', 'prompt', ...sent.slice(first).map(createSent));
	if (first === 0) return list;
	const more = button('quiet', first === 1 ? 'Show 1 earlier message' : `Show ${first} earlier messages`, () => {
		more.remove();
		list.prepend(...sent.slice(0, first).map(createSent));
	});
	list.prepend(more);
	return list;
}

/** Returns the messages that a model sees: from the last summary on, without replaced messages. */
function listSent(messages: readonly Message[]): readonly Message[] {
	const summary = messages.findLastIndex((message) => message.role === 'system' && message.summary === true);
	return messages.slice(Math.max(0, summary)).filter(({ isReplaced }) => isReplaced !== true);
}

const roles = { system: 'Summary', user: 'User', assistant: 'Model', tool: 'Result' } as const;

function createSent(message: Message): HTMLElement {
	const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
	const content = message.content === '' ? undefined : createValue(message.content);
	const called = calls.map(({ name, input }) => element('div', '', createRole(`calls ${name}`), createValue(input)));
	return element('div', 'sent', createRole(roles[message.role]), content, ...called);
}

function createRole(name: string): HTMLElement {
	return element('p', 'role', name);
}

/** The system prompt and the tools are in an export of the session, which is read only on demand. */
function createSetup(client: Client, { id, signal }: Visit, { reply }: Turn): HTMLElement {
	const place = element('div', 'setup');
	const read = createAction('Show the system prompt and the tools', 'of this turn', async () => {
		const { system, tools } = readSetup(await client.exportSession(id, { signal }), reply.id);
		const listed = tools.map(({ name, description = '' }) =>
			element('div', '', element('dt', '', name), element('dd', '', shorten(description, 300))),
		);
		place.replaceChildren(
			createRole('System prompt'),
			system === undefined ? element('p', 'about', 'This turn has none stored.') : createBox(system),
			createRole(`${tools.length} tools`),
			element('dl', 'facts wide', ...listed),
		);
	});
	place.append(read);
	return place;
}

/** Shows a text, the fields of an object, or any other JSON. */
function createValue(value: unknown): HTMLElement {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return createBox(toShown(value));
	const fields = Object.entries(value);
	if (fields.length === 0) return element('p', 'about', 'No fields.');
	const rows = fields.map(([name, field]) =>
		element('div', '', element('dt', '', name), configure(element('dd', '', toShown(field)), { dir: 'auto' })),
	);
	return element('dl', 'facts wide', ...rows);
}

function toShown(value: unknown): string {
	const text = typeof value === 'string' ? value : Array.isArray(value) ? toText(value) : toJson(value);
	return text.length > longestText ? `${shorten(text, longestText)}…` : text;
}

function toJson(value: unknown): string {
	return JSON.stringify(value, undefined, 2) ?? '';
}

function createBox(text: string): HTMLElement {
	return configure(element('pre', 'box', withoutTurns(toShown(text))), { dir: 'auto', tabIndex: 0 });
}
