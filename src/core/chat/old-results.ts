import * as v from 'valibot';
import { truncateText } from '../base/text.ts';
import { builtinNames } from '../skill/builtins.ts';
import { define, type Tool } from '../tool/index.ts';
import type { Conversation, References } from './conversation.ts';
import { countTokensHeuristic } from './estimate.ts';
import type { Emit } from './event.ts';
import { type Message, messageText, type ToolMessage } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { PromptRecord } from './prompt-record.ts';
import { searchName } from './tool-search.ts';

/** The number of newest turns whose results are sent whole: normally, and if the request does not fit. */
const keptTurns = 5;
const leastTurns = 1;

/** The tokens that a step must save at least: with a cold cache, with a warm cache, and if the request does not fit. */
const [leastCold, leastWarm, leastFull] = [4_000, 8_000, 1];

/** The cost of writing a token to the cache again, and of reading it, as shares of the usual price. */
const [rewriting, reading] = [1.15, 0.1];

/** At most this many further requests of a conversation are expected. */
const mostExpected = 50;

interface Before extends Pick<ChatOptions, 'model' | 'cache'> {
	/** The previous request. */
	readonly prompt: PromptRecord | undefined;
	/** The time of the next request, in milliseconds since 1970. */
	readonly now: number;
}

/** Applies a step and warns the readers. Returns false if there is no step. */
export async function takeStep(
	{ conversation, emit }: { readonly conversation: Conversation; readonly emit: Emit },
	step: Step | undefined,
): Promise<boolean> {
	if (step === undefined) return false;
	conversation.references = step.references;
	await emit({ type: 'warning', code: 'results_referred', message: step.warning });
	return true;
}

/** Updates the references after the window moved, or after a message was inserted at a place. */
export function keepReferences(conversation: Conversation, inserted = Number.POSITIVE_INFINITY): void {
	const { references } = conversation;
	if (references === undefined) return;
	conversation.references = createReferences(conversation, references.before + (references.before > inserted ? 1 : 0));
}

interface Step {
	readonly references: References;
	readonly warning: string;
}

/** Whether older results can be sent as references. In manual mode they cannot, because `read_result` does not run. */
export function isReferring({ oldResults, mode }: Pick<ChatOptions, 'oldResults' | 'mode'>): boolean {
	return oldResults !== 'keep' && mode !== 'manual';
}

/** Restores the references of the previous request, so that the next request begins like it. */
export function restoreReferences(
	{ messages, window }: Pick<Conversation, 'messages' | 'window'>,
	prompt: PromptRecord | undefined,
): References | undefined {
	if (prompt?.references === undefined) return undefined;
	const [, behind] = prompt.references;
	const newest = messages.findLastIndex(({ role }) => role === 'assistant');
	return createReferences({ messages, window }, newest - behind);
}

/**
 * Finds a step that saves cost by replacing older results with references. A step changes the middle of the request, so
 * the provider's cache misses the rest. With a cold cache that costs nothing. With a warm cache the step must save
 * more than the miss costs, assuming that the conversation gets as many further requests as it had so far.
 */
export function findPayingStep(conversation: Conversation, before: Before): Step | undefined {
	const { messages, window } = conversation;
	const next = createStep(conversation, keptTurns);
	if (next === undefined) return undefined;
	if (isCold(before)) return next.saved >= leastCold ? next : undefined;
	const turns = messages.slice(window.from).filter(({ role }) => role === 'assistant').length;
	const gain = next.saved * reading * Math.min(turns, mostExpected);
	return next.saved >= leastWarm && gain >= next.behind * rewriting ? next : undefined;
}

/** Finds a step for a conversation that does not fit, at any cost. Returns `undefined` if no step saves tokens. */
export function findFullStep(conversation: Conversation): Step | undefined {
	const next = createStep(conversation, leastTurns);
	return next !== undefined && next.saved >= leastFull ? next : undefined;
}

function createStep(
	conversation: Conversation,
	turns: number,
): (Step & { readonly saved: number; readonly behind: number }) | undefined {
	const { messages, references: known } = conversation;
	const references = createReferences(conversation, findTurn(messages, turns));
	if (references === undefined || references.before <= (known?.before ?? 0)) return undefined;
	const added = [...references.messages].filter(([message]) => known?.messages.has(message) !== true);
	const [first] = added;
	if (first === undefined) return undefined;
	const count = (list: readonly Message[]): number => countTokensHeuristic(list);
	const saved = count(added.map(([message]) => message)) - count(added.map(([, reference]) => reference));
	const behind = count(messages.slice(messages.indexOf(first[0]))) - saved;
	const results = `${added.length} older tool ${added.length === 1 ? 'result is' : 'results are'}`;
	const warning = `${results} sent as references, which saves about ${saved} tokens of each request. The model opens them with read_result.`;
	return { references, saved, behind, warning };
}

/** Finds the index of the model turn with `turns - 1` turns after it. */
function findTurn(messages: readonly Message[], turns: number): number {
	let left = turns;
	return messages.findLastIndex(({ role }) => role === 'assistant' && --left === 0);
}

/** Whether the provider's cache has probably lost the previous request. */
function isCold({ prompt, model, cache, now }: Before): boolean {
	if (prompt === undefined || prompt.model !== model || cache === false) return true;
	// A provider that counts no tokens has no cache that is worth keeping.
	if (prompt.inputTokens === 0 && prompt.references === undefined) return true;
	return now - prompt.at > (cache === '1h' ? 60 : 5) * 60_000;
}

export const readResultName = 'read_result';

/** The tools whose results are never replaced, because these are texts of skills or lists of found tools. */
const neverReferred: ReadonlySet<string> = new Set([...builtinNames, searchName]);

/** Results with fewer characters do not become references. */
const leastCharacters = 1_500;
/** The number of characters of a result that its reference shows. */
const shownCharacters = 200;
/** The number of characters that one call of `read_result` returns. */
const openedCharacters = 20_000;

/** Creates references to the window's long results before a place. Returns `undefined` if there are none. */
function createReferences(
	{ messages, window, references: known }: Pick<Conversation, 'messages' | 'window' | 'references'>,
	before: number,
): References | undefined {
	const created = new Map<Message, ToolMessage>();
	const ids = new Set<string>();
	let names = new Map<string, string>();
	let first: References['first'] | undefined;
	for (let place = window.from; place < before; place++) {
		const message = messages[place];
		if (message?.role === 'assistant') names = new Map((message.toolCalls ?? []).map(({ id, name }) => [id, name]));
		if (message?.role !== 'tool') continue;
		const { toolCallId: callId } = message;
		const name = names.get(callId);
		// Servers may reuse an id. Such an id refers to the first result.
		const isAmbiguous = ids.has(callId);
		ids.add(callId);
		if (isAmbiguous || name === undefined || neverReferred.has(name) || !isLong(message)) continue;
		created.set(message, known?.messages.get(message) ?? refer(message));
		first ??= { place, callId };
	}
	return first && { before, messages: created, first };
}

/** Whether a result has enough text for a reference. Results with an image or a file stay whole. */
function isLong(message: ToolMessage): boolean {
	const hasMedia = message.parts?.some(({ kind }) => kind !== 'text' && kind !== 'tool-result') ?? false;
	return !hasMedia && messageText(message).length >= leastCharacters;
}

/** Creates the reference to a result. Its text is always the same, so that caches hit. */
function refer(result: ToolMessage): ToolMessage {
	const { parts: _, ...message } = result;
	const text = messageText(result);
	const note = `This result has ${text.length} characters. Only its beginning is shown, to keep requests short.`;
	const how = `Call ${readResultName} with the id ${JSON.stringify(message.toolCallId)} to read it.`;
	return { ...message, content: `[${note} ${how}]\n${truncateText(text, shownCharacters)}…` };
}

export function createResultReader(messages: readonly Message[]): Tool {
	return define({
		name: readResultName,
		description: `Read an earlier tool result of which only the beginning is shown, by its id, ${openedCharacters} characters at a time.`,
		inputSchema: v.object({
			id: v.pipe(v.string(), v.description('The id that stands in the place of the result')),
			from: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.description('The first character, 0'))),
		}),
		passInput: true,
		retry: 'safe',
		onRequest: ({ id }) => ['Reading an earlier result', id],
		fn: ({ id, from = 0 }) => {
			const found = messages.find((message) => message.role === 'tool' && message.toolCallId === id);
			if (found === undefined) return `No result has the id ${JSON.stringify(id)}.`;
			const text = messageText(found);
			const shown = truncateText(text.slice(from), openedCharacters);
			const end = from + shown.length;
			if (from === 0 && end === text.length) return shown;
			const more = end < text.length ? ` Go on with from: ${end}.` : '';
			return `[Characters ${from} to ${end} of ${text.length}.${more}]\n${shown}`;
		},
	});
}
