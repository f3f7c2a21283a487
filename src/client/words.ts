/** Describes a run in words, for the page and the terminal. */

import type { Agent, RunEvent, TaskList, Usage } from '../client/types.ts';
import { say } from './say.ts';

/** Returns the text of a message's content, which can be a list of parts. */
export function toText(content: unknown): string {
	if (typeof content === 'string') return content;
	if (!Array.isArray(content) || content.some((part) => typeof part !== 'object')) return JSON.stringify(content) ?? '';
	return content.map((part) => part?.text ?? `[${part?.name ?? part?.kind ?? 'part'}]`).join('\n\n');
}

/** A message with its files. It is possibly not in the history yet. */
export interface SaidMessage {
	readonly content: unknown;
	readonly parts?: readonly unknown[];
	readonly attachments?: readonly unknown[];
}

/** Returns the text that a person wrote, without the files, which are the last parts. */
export function toSaidText({ content, parts = [], attachments = [] }: SaidMessage): string {
	if (attachments.length === 0) return toText(content);
	return toText(parts.slice(0, Math.max(0, parts.length - attachments.length)));
}

/** Describes a number of bytes, such as 1.2 MB. */
export function describeSize(bytes: number): string {
	if (bytes < 1_000) return bytes === 1 ? say('1 byte') : say('{count} bytes', { count: bytes });
	if (bytes < 999_500) return say('{count} KB', { count: Math.round(bytes / 1_000) });
	return say('{count} MB', { count: (bytes / 1_000_000).toFixed(1) });
}

/** Describes the progress of a task list, such as `2 of 3 done, 1 failed`. */
export function describeTasks({ tasks }: TaskList): string {
	const count = (wanted: 'done' | 'failed') => tasks.filter(({ outcome }) => outcome === wanted).length;
	if (tasks.length === 0) return say('no tasks yet');
	const done = say('{done} of {all} done', { done: count('done'), all: tasks.length });
	return count('failed') > 0 ? `${done}, ${say('{count} failed', { count: count('failed') })}` : done;
}

/** Finds the skill that a tool call uses. Returns undefined if the call uses no skill. */
export function findSkillName(name: string, input: unknown): string | undefined {
	if (name !== 'read_skill' && name !== 'apply_skill') return undefined;
	const skill = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined;
	return typeof skill === 'string' ? skill : undefined;
}

/** Separates the diff from a tool's result, if the result has a diff. `rest` is the result without the diff. */
export function splitDiff(output: unknown): { readonly diff?: string; readonly rest: unknown } {
	if (typeof output !== 'object' || output === null || !('diff' in output)) return { rest: output };
	const { diff, ...rest } = output;
	return typeof diff === 'string' && diff !== '' ? { diff, rest } : { rest: output };
}

/** Parses the streamed input of a tool call. Returns the text itself if it is not JSON, and `{}` for an empty text. */
export function parseInput(json: string): unknown {
	if (json.trim() === '') return {};
	try {
		return JSON.parse(json);
	} catch {
		return json;
	}
}

/** Returns the arguments of a call in short: the value of a single text, nothing for no arguments, else JSON. */
export function toShortInput(input: unknown): string {
	if (typeof input !== 'object' || input === null) return String(input);
	const values = Object.values(input);
	if (values.length === 0) return '';
	const only = values.length === 1 ? values[0] : input;
	return typeof only === 'string' ? only : JSON.stringify(only);
}

/** Describes the usage: the cost, the tokens, the share from a cache, and other billed units. */
export function describeUsage(usage: Usage | undefined): string {
	const used = [describeTokens(usage), describeCached(usage), ...listUnits(usage)].filter((words) => words !== '');
	const cost = used.length === 0 && usage?.costUsd === undefined ? '' : describeCost(usage);
	return [...(cost === '' ? [] : [cost]), ...used].join(' · ');
}

export function describeTokens(usage: Usage | undefined): string {
	const parts = [];
	const count = (tokens: number) => tokens.toLocaleString('en');
	if (usage?.inputTokens !== undefined) parts.push(`${count(usage.inputTokens)} tokens in`);
	if (usage?.outputTokens !== undefined) parts.push(`${count(usage.outputTokens)} out`);
	return parts.join(', ');
}

/** Describes which share of the input came from the provider's cache. Returns an empty text if none did. */
export function describeCached({ inputTokens = 0, cachedInputTokens = 0 }: Usage = {}): string {
	if (inputTokens === 0 || cachedInputTokens === 0) return '';
	return `${Math.round((100 * cachedInputTokens) / inputTokens)}% from cache`;
}

/** Describes a cost in dollars. Returns an empty text if the cost is 0. An unknown cost is shown as unknown, not as 0. */
export function describeCost(usage: Usage | undefined): string {
	const { costUsd, unpriced } = usage ?? {};
	const known = costUsd ? describeUsd(costUsd) : '';
	if (costUsd !== undefined && unpriced === undefined) return known;
	return known === '' ? 'cost unknown' : `${known} and unknown`;
}

/** Describes dollars: $12.50, $0.0123 or $0.00042. */
export function describeUsd(usd: number): string {
	if (usd === 0) return '$0';
	if (usd >= 0.1) return `$${usd.toFixed(2)}`;
	if (usd < 0.000005) return 'under $0.00001';
	// Two digits behind the point always stand, and more only if they say something.
	return `$${usd.toFixed(usd < 0.01 ? 5 : 4).replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}

/** Describes the billed units besides tokens, such as 2 web searches. */
function listUnits(usage: Usage | undefined): string[] {
	const units = Object.entries(usage?.units ?? {}).filter(([name]) => !name.endsWith('_tokens'));
	return units.map(([name, count]) => {
		const words = name.replaceAll('_', ' ');
		return `${count.toLocaleString('en')} ${count === 1 ? toSingular(words) : words}`;
	});
}

function toSingular(words: string): string {
	if (words.endsWith('ches')) return words.slice(0, -2);
	return words.endsWith('s') ? words.slice(0, -1) : words;
}

/** Describes the spending: dollars if the price is known, otherwise tokens. */
export function describeMoney({ tokens, usd }: { readonly tokens: number; readonly usd: number }): string {
	if (usd > 0) return describeUsd(usd);
	return tokens === 1 ? '1 token' : `${tokens.toLocaleString('en')} tokens`;
}

/** Describes what a session has cost so far, in tokens and in dollars. */
export function describeSpent({ tokens, usd }: { readonly tokens: number; readonly usd: number }): string {
	const count = describeMoney({ tokens, usd: 0 });
	return `${usd > 0 ? `${count}, ${describeMoney({ tokens, usd })}` : count} so far`;
}

export function describeAwaiting({ question, toolCalls = [] }: Extract<RunEvent, { type: 'awaiting' }>): string {
	if (question !== undefined) return question.question;
	const listNames = (isApproval: boolean) =>
		toolCalls
			.filter(({ kind }) => (kind === 'approval') === isApproval)
			.map(({ name }) => name)
			.join(', ');
	const [results, approvals] = [listNames(false), listNames(true)];
	const waits = [
		...(results ? [say('for the result of {names}', { names: results })] : []),
		...(approvals ? [say('for somebody to allow {names}', { names: approvals })] : []),
	];
	if (waits.length === 0) return say('The run stopped after a step.');
	return say('The run waits {what}.', { what: waits.join(say(', and ')) });
}

export function describeHalt(reason: string): string {
	if (reason === 'budget_exceeded') return say('Stopped: the budget of this session is used up.');
	return say('Stopped by the agent: {reason}.', { reason });
}

/** Describes the reason of a `stop` event, if a reader should know it. */
export function describeStop(reason: string): string | undefined {
	if (reason === 'max_tokens') return say('The answer was cut off: it reached the limit of output tokens.');
	if (reason === 'refusal') return say('The model declined to answer.');
	return undefined;
}

/** Describes the model of an agent, and its missing settings. */
export function describeModel({ model, models }: Pick<Agent, 'model' | 'models'>): string {
	const about = models.find(({ name }) => name === model);
	if (about === undefined || about.ready) return model;
	if (about.needs !== undefined) return `${model} (not ready: set ${about.needs})`;
	return `${model} (${about.problem === undefined ? 'not ready' : `not ready: ${about.problem}`})`;
}

export function describeDenial(reason?: string): string {
	return reason ? say('Denied: {reason}', { reason }) : say('Denied');
}
