import { RunletError } from '../errors.ts';
import { contextLimit, countTokensHeuristic, isNearlyFull, overflow, type RequestSize, requestSize } from './budget.ts';
import { pushed } from './channel.ts';
import { summarize } from './compact.ts';
import { type Conversation, cutsOf, sentOf, type Window, windowFrom, withSummary } from './context.ts';
import type { TurnReply } from './deltas.ts';
import { isDelta, type RunEvent } from './event.ts';
import { usageOf } from './failure.ts';
import type { Message } from './message.ts';
import { abortable } from './signal.ts';
import { metered, modelTurn, type TurnRequest } from './turn.ts';

type Asked = Omit<TurnRequest, 'messages' | 'inputTokens'>;

/** Tokens of a request. */
interface Room {
	/** What it may have. */
	readonly limit: number;
	/** What it should have once something is left out. */
	readonly target: number;
	/** What a request for a summary may have, its answer included. */
	readonly asking: number;
}

/**
 * A model turn over as much of the conversation as fits the context (`contextFull`). Where it is over the limit, or its
 * provider refuses it for its length before anything was shown, what is oldest is left out until the request has about
 * half of that size, so that it is not over again soon; where that cannot be reached, as little as is needed. Throws
 * `context_overflow` where not even the newest user message and what follows it fit.
 */
export async function* fittingTurn(request: Asked, conversation: Conversation): AsyncGenerator<RunEvent[], TurnReply> {
	const { options, signal } = request;
	const limit = await abortable(contextLimit(options), signal);
	if (limit !== undefined) yield* withinLimit(request, conversation, limit);
	let shown = false;
	const turn = async function* (): AsyncGenerator<RunEvent[], TurnReply> {
		const sent = await metered({ ...request, messages: sentOf(conversation.messages, conversation.window) });
		const onEvent = (event: RunEvent): void => {
			shown = isDelta(event) || (shown && event.type !== 'turn.restarted');
			conversation.onEvent(event);
		};
		return yield* pushed<RunEvent, TurnReply>((push) => modelTurn(sent, push), onEvent);
	};
	try {
		return yield* turn();
	} catch (thrown) {
		if (shown || !isOverflow(thrown)) throw thrown;
		const room = await roomAfterRefusal(request, conversation);
		if (room === undefined) throw thrown;
		conversation.spend(usageOf(thrown));
		yield* makeRoom(request, conversation, room);
	}
	return yield* turn();
}

function isOverflow(thrown: unknown): thrown is RunletError {
	return thrown instanceof RunletError && thrown.code === 'context_overflow';
}

async function* withinLimit(request: Asked, conversation: Conversation, limit: number): AsyncGenerator<RunEvent[]> {
	const { contextFull = 'fail' } = request.options;
	let size = await sizeOf(request, conversation, conversation.window);
	if (size.total > limit) {
		if (contextFull === 'fail') throw overflow(size, limit);
		yield* makeRoom(request, conversation, { limit, target: limit / 2, asking: limit });
		size = await sizeOf(request, conversation, conversation.window);
	}
	if (!isNearlyFull(request.options, size, limit)) return;
	const percent = Math.round((100 * size.total) / limit);
	const message = `The context is ${percent} % full: about ${size.total} of ${limit} tokens.`;
	yield* warn(conversation, 'context_budget', message);
}

/** For a request that is too long though the estimate is not: half of it, or the newest group alone. None where that is all there is. */
async function roomAfterRefusal(request: Asked, conversation: Conversation): Promise<Room | undefined> {
	const { contextFull = 'fail' } = request.options;
	const { messages, window } = conversation;
	const last = cutsOf(messages, window).at(-1);
	if (contextFull === 'fail' || last === undefined) return undefined;
	const { total } = await sizeOf(request, conversation, window);
	const least = await sizeOf(request, conversation, windowFrom(messages, window, last));
	const target = total / 2;
	const summary = contextFull === 'compact' ? summaryTokens(target) : 0;
	return { target, limit: Math.max(target, least.total + summary), asking: target };
}

async function* makeRoom(request: Asked, conversation: Conversation, room: Room): AsyncGenerator<RunEvent[]> {
	if (request.options.contextFull === 'compact') {
		yield* compact(request, conversation, room);
		const { total } = await sizeOf(request, conversation, conversation.window);
		if (total <= room.limit) return;
	}
	yield* truncate(request, conversation, room);
}

/** Leaves out the oldest groups and, where the newest one alone does not fit beside it, the summary too. */
async function* truncate(request: Asked, conversation: Conversation, room: Room): AsyncGenerator<RunEvent[]> {
	const { messages, window } = conversation;
	const cut = await firstFitting(request, conversation, room);
	const newest = windowFrom(messages, window, cut ?? cutsOf(messages, window).at(-1) ?? window.from);
	const next = cut === undefined ? withSummary(newest) : newest;
	if (cut === undefined) {
		const size = await sizeOf(request, conversation, next);
		if (size.total > room.limit) throw overflow(size, room.limit);
	}
	const without = leftOut(messages, window, newest.from) + newest.front.length - next.front.length;
	conversation.window = next;
	yield* warn(
		conversation,
		'context_truncated',
		`The context is full: ${without} older messages are not sent to the model any more.`,
	);
}

/** Puts a summary in the place of the oldest groups, if there is room for one and the model writes it. */
async function* compact(request: Asked, conversation: Conversation, room: Room): AsyncGenerator<RunEvent[]> {
	const { messages, window } = conversation;
	const tokens = summaryTokens(room.target);
	const at = await firstFitting(request, conversation, room, tokens);
	if (at === undefined) return;
	const sent = sentOf(messages, window);
	const older = sent.slice(0, placeOfUser(sent, messages.slice(at).filter(isUser).length));
	const asking = { limit: room.asking, tokens, charactersPerToken: await charactersPerToken(request, sent) };
	const made = yield* summarize(request, older, asking, conversation);
	if (made === undefined) return;
	const { message, usage } = made;
	const without = leftOut(messages, window, at);
	const next = windowFrom(messages, window, at);
	messages.splice(at, 0, message);
	conversation.window = withSummary({ ...next, from: at + 1 }, message);
	yield* warn(conversation, 'context_compacted', `The context is full: ${without} older messages were summed up.`);
	await conversation.store(message, { inFrontOf: messages.length - 1 - at, usage });
}

/** Tokens of a summary. */
function summaryTokens(target: number): number {
	return Math.min(4_096, Math.max(128, Math.floor(target / 4)));
}

/** How many characters of a conversation are a token, by how it was counted. */
async function charactersPerToken({ options, signal }: Asked, sent: readonly Message[]): Promise<number> {
	const { parts } = await abortable(requestSize({ ...options, system: undefined }, sent), signal);
	return Math.min(4, Math.max(1, (4 * countTokensHeuristic(sent)) / Math.max(1, parts.messages)));
}

/** The first place from which on the request has the size that it should have, else one that it may have, with `more` tokens beside it. */
async function firstFitting(
	request: Asked,
	conversation: Conversation,
	{ target, limit }: Room,
	more = 0,
): Promise<number | undefined> {
	const { messages, window } = conversation;
	const cuts = cutsOf(messages, window);
	const first = async (bound: number): Promise<number | undefined> => {
		let low = 0;
		for (let high = cuts.length; low < high; ) {
			const middle = (low + high) >> 1;
			const { total } = await sizeOf(request, conversation, windowFrom(messages, window, cuts[middle] ?? 0));
			if (total + more <= bound) high = middle;
			else low = middle + 1;
		}
		return cuts[low];
	};
	return (await first(target)) ?? (await first(limit));
}

function sizeOf(
	{ options, system, tools, signal }: Asked,
	{ messages }: Conversation,
	window: Window,
): Promise<RequestSize> {
	return abortable(requestSize({ ...options, system }, sentOf(messages, window), tools), signal);
}

/** How many messages are not sent any more, from another place on. */
function leftOut(messages: readonly Message[], { from }: Window, at: number): number {
	return messages.slice(from, at).filter(({ role }) => role !== 'system').length;
}

function isUser({ role }: Message): boolean {
	return role === 'user';
}

/** The place of the user message that is the last but `count - 1`. */
function placeOfUser(messages: readonly Message[], count: number): number {
	let left = count;
	return messages.findLastIndex((message) => isUser(message) && --left === 0);
}

async function* warn({ onEvent }: Conversation, code: string, message: string): AsyncGenerator<RunEvent[]> {
	const warning = { type: 'warning', code, message } as const;
	onEvent(warning);
	yield [warning];
}
