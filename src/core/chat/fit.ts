import { RunletError } from '../ground/errors.ts';
import {
	countTokensHeuristic,
	createOverflow,
	findContextLimit,
	isNearlyFull,
	type RequestSize,
	requestSize,
} from './budget.ts';
import { pushed } from './channel.ts';
import { summarize } from './compact.ts';
import { type Conversation, findCuts, moveWindow, selectSent, type Window, withSummary } from './context.ts';
import type { TurnReply } from './deltas.ts';
import { isDelta, type RunEvent } from './event.ts';
import { readUsage } from './failure.ts';
import type { Message } from './message.ts';
import { raceAbort } from './signal.ts';
import { modelTurn, reserveTokens, type TurnRequest } from './turn.ts';

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
export async function* runFittingTurn(
	request: Asked,
	conversation: Conversation,
): AsyncGenerator<RunEvent[], TurnReply> {
	const { options, signal } = request;
	const limit = await raceAbort(findContextLimit(options), signal);
	if (limit !== undefined) yield* runWithinLimit(request, conversation, limit);
	let shown = false;
	const findTurn = async function* (): AsyncGenerator<RunEvent[], TurnReply> {
		const sent = await reserveTokens({ ...request, messages: selectSent(conversation.messages, conversation.window) });
		const onEvent = (event: RunEvent): void => {
			shown = isDelta(event) || (shown && event.type !== 'turn.restarted');
			conversation.onEvent(event);
		};
		return yield* pushed<RunEvent, TurnReply>((push) => modelTurn(sent, push), onEvent);
	};
	try {
		return yield* findTurn();
	} catch (thrown) {
		if (shown || !isOverflow(thrown)) throw thrown;
		const room = await findRoomAfterRefusal(request, conversation);
		if (room === undefined) throw thrown;
		conversation.spend(readUsage(thrown));
		yield* makeRoom(request, conversation, room);
	}
	return yield* findTurn();
}

function isOverflow(thrown: unknown): thrown is RunletError {
	return thrown instanceof RunletError && thrown.code === 'context_overflow';
}

async function* runWithinLimit(request: Asked, conversation: Conversation, limit: number): AsyncGenerator<RunEvent[]> {
	const { contextFull = 'fail' } = request.options;
	let size = await measureSize(request, conversation, conversation.window);
	if (size.total > limit) {
		if (contextFull === 'fail') throw createOverflow(size, limit);
		yield* makeRoom(request, conversation, { limit, target: limit / 2, asking: limit });
		size = await measureSize(request, conversation, conversation.window);
	}
	if (!isNearlyFull(request.options, size, limit)) return;
	const percent = Math.round((100 * size.total) / limit);
	const message = `The context is ${percent} % full: about ${size.total} of ${limit} tokens.`;
	yield* warn(conversation, 'context_budget', message);
}

/** For a request that is too long though the estimate is not: half of it, or the newest group alone. None where that is all there is. */
async function findRoomAfterRefusal(request: Asked, conversation: Conversation): Promise<Room | undefined> {
	const { contextFull = 'fail' } = request.options;
	const { messages, window } = conversation;
	const last = findCuts(messages, window).at(-1);
	if (contextFull === 'fail' || last === undefined) return undefined;
	const { total } = await measureSize(request, conversation, window);
	const least = await measureSize(request, conversation, moveWindow(messages, window, last));
	const target = total / 2;
	const summary = contextFull === 'compact' ? summaryTokens(target) : 0;
	return { target, limit: Math.max(target, least.total + summary), asking: target };
}

async function* makeRoom(request: Asked, conversation: Conversation, room: Room): AsyncGenerator<RunEvent[]> {
	if (request.options.contextFull === 'compact') {
		yield* compact(request, conversation, room);
		const { total } = await measureSize(request, conversation, conversation.window);
		if (total <= room.limit) return;
	}
	yield* truncate(request, conversation, room);
}

/** Leaves out the oldest groups and, where the newest one alone does not fit beside it, the summary too. */
async function* truncate(request: Asked, conversation: Conversation, room: Room): AsyncGenerator<RunEvent[]> {
	const { messages, window } = conversation;
	const cut = await findFirstFitting(request, conversation, room);
	const newest = moveWindow(messages, window, cut ?? findCuts(messages, window).at(-1) ?? window.from);
	const next = cut === undefined ? withSummary(newest) : newest;
	if (cut === undefined) {
		const size = await measureSize(request, conversation, next);
		if (size.total > room.limit) throw createOverflow(size, room.limit);
	}
	const without = countLeftOut(messages, window, newest.from) + newest.front.length - next.front.length;
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
	const at = await findFirstFitting(request, conversation, room, tokens);
	if (at === undefined) return;
	const sent = selectSent(messages, window);
	const older = sent.slice(0, placeOfUser(sent, messages.slice(at).filter(isUser).length));
	const asking = { limit: room.asking, tokens, charactersPerToken: await charactersPerToken(request, sent) };
	const made = yield* summarize(request, older, asking, conversation);
	if (made === undefined) return;
	const { message, usage } = made;
	const without = countLeftOut(messages, window, at);
	const next = moveWindow(messages, window, at);
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
	const { parts } = await raceAbort(requestSize({ ...options, system: undefined }, sent), signal);
	return Math.min(4, Math.max(1, (4 * countTokensHeuristic(sent)) / Math.max(1, parts.messages)));
}

/** The first place from which on the request has the size that it should have, else one that it may have, with `more` tokens beside it. */
async function findFirstFitting(
	request: Asked,
	conversation: Conversation,
	{ target, limit }: Room,
	more = 0,
): Promise<number | undefined> {
	const { messages, window } = conversation;
	const cuts = findCuts(messages, window);
	const findFirst = async (bound: number): Promise<number | undefined> => {
		let low = 0;
		for (let high = cuts.length; low < high; ) {
			const middle = (low + high) >> 1;
			const { total } = await measureSize(request, conversation, moveWindow(messages, window, cuts[middle] ?? 0));
			if (total + more <= bound) high = middle;
			else low = middle + 1;
		}
		return cuts[low];
	};
	return (await findFirst(target)) ?? (await findFirst(limit));
}

function measureSize(
	{ options, system, tools, signal }: Asked,
	{ messages }: Conversation,
	window: Window,
): Promise<RequestSize> {
	return raceAbort(requestSize({ ...options, system }, selectSent(messages, window), tools), signal);
}

/** How many messages are not sent any more, from another place on. */
function countLeftOut(messages: readonly Message[], { from }: Window, at: number): number {
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
