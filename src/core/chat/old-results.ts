import { countTokensHeuristic } from './context-budget.ts';
import type { Conversation, References } from './conversation.ts';
import type { Emit } from './event.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { PromptRecord } from './prompt-record.ts';
import { createReferences } from './references.ts';

/** The newest model turns whose results are sent whole, and how many of these are if nothing else fits. */
const keptTurns = 5;
const leastTurns = 1;

/** The least tokens that a step saves: where the cache has nothing, where it has the conversation, where nothing fits. */
const [leastCold, leastWarm, leastFull] = [4_000, 8_000, 1];

/** What a token costs more to write into a cache than to read from it, and to read, as shares of its usual price. */
const [rewriting, reading] = [1.15, 0.1];

/** The most further requests that are expected of a conversation. */
const mostExpected = 50;

/** What a run knows of the request before. */
interface Before extends Pick<ChatOptions, 'model' | 'cache'> {
	readonly prompt: PromptRecord | undefined;
	/** When the next request is made, in milliseconds since 1970. */
	readonly now: number;
}

/** Takes a step, and warns the readers. Returns whether there is one. */
export async function takeStep(
	{ conversation, emit }: { readonly conversation: Conversation; readonly emit: Emit },
	step: Step | undefined,
): Promise<boolean> {
	if (step === undefined) return false;
	conversation.references = step.references;
	await emit({ type: 'warning', code: 'results_referred', message: step.warning });
	return true;
}

/** Makes references again after the window has moved, or after a message was inserted at a place. */
export function keepReferences(conversation: Conversation, inserted = Number.POSITIVE_INFINITY): void {
	const { references } = conversation;
	if (references === undefined) return;
	conversation.references = createReferences(conversation, references.before + (references.before > inserted ? 1 : 0));
}

/** A step: the references from now on, and what is said of it. */
interface Step {
	readonly references: References;
	readonly warning: string;
}

/** Whether older results may be sent as references. Where somebody else runs all tools, nobody would open them. */
export function isReferring({ oldResults, mode }: Pick<ChatOptions, 'oldResults' | 'mode'>): boolean {
	return oldResults !== 'keep' && mode !== 'manual';
}

/** Makes the references of the request before again, so that the next one begins like it. */
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
 * Finds out whether it pays to send references in the place of older results. Each such step changes the middle of the
 * request, which the provider then reads anew. Where its cache has expired, it does so anyway. Else the step must save more
 * by as many further requests as there were so far.
 */
export function findPayingStep(conversation: Conversation, before: Before): Step | undefined {
	const { messages, window } = conversation;
	const next = createStep(conversation, keptTurns);
	if (next === undefined) return undefined;
	if (isCold(before)) return next.saved >= leastCold ? next : undefined;
	const asked = messages.slice(window.from).filter(({ role }) => role === 'assistant').length;
	const gain = next.saved * reading * Math.min(asked, mostExpected);
	return next.saved >= leastWarm && gain >= next.behind * rewriting ? next : undefined;
}

/** Makes a step whatever it costs, because the conversation does not fit. Nothing if it would save nothing. */
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

/** Finds the place of the model turn with `turns - 1` turns behind it. */
function findTurn(messages: readonly Message[], turns: number): number {
	let left = turns;
	return messages.findLastIndex(({ role }) => role === 'assistant' && --left === 0);
}

/** Whether the provider's cache has nothing of the request before, as far as that is known. */
function isCold({ prompt, model, cache, now }: Before): boolean {
	if (prompt === undefined || prompt.model !== model || cache === false) return true;
	return now - prompt.at > (cache === '1h' ? 60 : 5) * 60_000;
}
