import { RunletError } from '../base/errors.ts';
import { raceAbort } from '../base/promises.ts';
import {
	type Conversation,
	dropCompacted,
	findCuts,
	isCompacted,
	moveWindow,
	selectSent,
	type Window,
	withSummary,
} from './conversation.ts';
import {
	countTokensHeuristic,
	createOverflow,
	findContextLimit,
	isNearlyFull,
	measureRequest,
	type RequestSize,
} from './estimate.ts';
import type { Message } from './message.ts';
import { askModel, findVariant } from './model-call.ts';
import { readUsage } from './model-error.ts';
import { findFullStep, keepReferences, takeStep } from './old-results.ts';
import type { TurnReply } from './streamed-reply.ts';
import { type PreparedTurn, summarize } from './summary.ts';
import type { SentTools } from './tool-catalog.ts';

interface Room {
	readonly limit: number;
	/** The target size in tokens for a request that leaves out messages. */
	readonly target: number;
	/** The maximum number of tokens of a summary's request and its answer together. */
	readonly forSummary: number;
}

/**
 * Asks the model with as much of the conversation as fits (`contextFull`). If the request is over the limit, or if the
 * provider refuses its length before sending a part of the reply, references replace older results. If that is not
 * enough, the oldest messages are left out until the rest is about half of the limit, or half of the refused request.
 * Throws `context_overflow` if the newest user message and the messages after it do not fit.
 */
export async function askWithinContext(turn: PreparedTurn, conversation: Conversation): Promise<TurnReply> {
	const { options, signal, readers } = turn;
	/** The state of the conversation for which the tools in `sent` were selected. */
	let { window, references } = conversation;
	let sent: SentTools = turn;
	const limit = await raceAbort(findContextLimit(options), signal);
	// A request whose reply has begun was within the limit.
	const isBegun = options.parking?.findBegun() !== undefined;
	if (limit !== undefined && !isBegun) await keepWithinLimit(turn, conversation, limit);
	const ask = async (): Promise<TurnReply> => {
		const isSame = conversation.window === window && conversation.references === references;
		if (!isSame) sent = await turn.selectAgain();
		({ window, references } = conversation);
		const reply = await askModel({ ...turn, ...sent, messages: selectSent(conversation, window) });
		if (isCompacted(reply.providerMetadata, findVariant(options, reply.model)))
			await warn(turn, 'context_compacted', 'The provider has summed up the older messages.');
		const { system } = turn;
		const { messages, fronts } = conversation;
		return { ...reply, sent: { model: reply.model, system, tools: sent.tools, messages, window, fronts, references } };
	};
	const askOr = async (shorten: () => Promise<boolean>): Promise<TurnReply | undefined> => {
		try {
			return await ask();
		} catch (thrown) {
			if (readers.isShown || !isOverflow(thrown) || !(await shorten())) throw thrown;
			conversation.spend(readUsage(thrown));
			return undefined;
		}
	};
	let isReferred = false;
	const first = await askOr(async () => {
		isReferred = await referToResults(turn, conversation);
		return isReferred || leaveOut(turn, conversation);
	});
	if (first !== undefined || !isReferred) return first ?? ask();
	return (await askOr(() => leaveOut(turn, conversation))) ?? ask();
}

/** Leaves out the oldest part of a request that was refused as too long. Returns whether there is such a part. */
async function leaveOut(turn: PreparedTurn, conversation: Conversation): Promise<boolean> {
	const room = await findRoomAfterRefusal(turn, conversation);
	if (room !== undefined) await makeRoom(turn, conversation, room);
	return room !== undefined;
}

/** Replaces older results by references. Returns whether there were results to replace. */
function referToResults({ canRefer, readers }: PreparedTurn, conversation: Conversation): Promise<boolean> {
	return takeStep({ conversation, emit: readers.emit }, canRefer ? findFullStep(conversation) : undefined);
}

function isOverflow(thrown: unknown): thrown is RunletError {
	return thrown instanceof RunletError && thrown.code === 'context_overflow';
}

async function keepWithinLimit(turn: PreparedTurn, conversation: Conversation, limit: number): Promise<void> {
	const { contextFull = 'fail' } = turn.options;
	let size = await measureSize(turn, conversation, conversation.window);
	if (size.total > limit && (await referToResults(turn, conversation)))
		size = await measureSize(turn, conversation, conversation.window);
	if (size.total > limit) {
		if (contextFull === 'fail') throw createOverflow(size, limit);
		await makeRoom(turn, conversation, { limit, target: limit / 2, forSummary: limit });
		size = await measureSize(turn, conversation, conversation.window);
	}
	if (!isNearlyFull(turn.options, size, limit)) return;
	const percent = Math.round((100 * size.total) / limit);
	const message = `The context is ${percent} % full: about ${size.total} of ${limit} tokens.`;
	await warn(turn, 'context_budget', message);
}

/**
 * Returns the limits after the provider refused a request that seemed to fit: half of its estimated size, or more if
 * the newest group needs more. Returns `undefined` if nothing can be left out.
 */
async function findRoomAfterRefusal(turn: PreparedTurn, conversation: Conversation): Promise<Room | undefined> {
	const { contextFull = 'fail' } = turn.options;
	const { messages, window } = conversation;
	const last = findCuts(messages, window).at(-1);
	if (contextFull === 'fail' || last === undefined) return undefined;
	const { total } = await measureSize(turn, conversation, window);
	const least = await measureSize(turn, conversation, moveWindow(messages, window, last));
	const target = total / 2;
	const summary = contextFull === 'compact' ? computeSummaryTokens(target) : 0;
	return { target, limit: Math.max(target, least.total + summary), forSummary: target };
}

async function makeRoom(turn: PreparedTurn, conversation: Conversation, room: Room): Promise<void> {
	if (turn.options.contextFull === 'compact') {
		await compact(turn, conversation, room);
		const { total } = await measureSize(turn, conversation, conversation.window);
		if (total <= room.limit) return;
	}
	await truncate(turn, conversation, room);
}

/** Leaves out the oldest groups, and also the summary if the newest group does not fit beside it. */
async function truncate(turn: PreparedTurn, conversation: Conversation, room: Room): Promise<void> {
	const { messages, window } = conversation;
	const cut = await findFirstFitting(turn, conversation, room);
	const newest = moveWindow(messages, window, cut ?? findCuts(messages, window).at(-1) ?? window.from);
	const next = cut === undefined ? withSummary(newest) : newest;
	if (cut === undefined) {
		const size = await measureSize(turn, conversation, next);
		if (size.total > room.limit) throw createOverflow(size, room.limit);
	}
	const count = countLeftOut(messages, window, newest.from) + newest.front.length - next.front.length;
	conversation.window = next;
	keepReferences(conversation);
	const message = `The context is full: ${count} older messages are not sent to the model any more.`;
	await warn(turn, 'context_truncated', message);
}

/** Replaces the oldest groups by a summary. Does nothing if the summary would not fit, or if the model writes none. */
async function compact(turn: PreparedTurn, conversation: Conversation, room: Room): Promise<void> {
	const { messages, window, fence } = conversation;
	const tokens = computeSummaryTokens(room.target);
	const at = await findFirstFitting(turn, conversation, room, tokens);
	if (at === undefined) return;
	// Recalled text is never summarized, because it may be erased later.
	const sent = selectSent({ messages, fence }, window);
	const older = sent.slice(0, findUserPlace(sent, messages.slice(at).filter(isUser).length));
	const charactersPerToken = await countCharactersPerToken(turn, sent);
	const summaryRoom = { limit: room.forSummary, tokens, charactersPerToken };
	const summary = await summarize(turn, older, summaryRoom, conversation.spend);
	if (summary === undefined) return;
	const { message, usage } = summary;
	const count = countLeftOut(messages, window, at);
	const next = moveWindow(messages, window, at);
	messages.splice(at, 0, message);
	conversation.window = withSummary({ ...next, from: at + 1 }, message);
	keepReferences(conversation, at);
	await warn(turn, 'context_compacted', `The context is full: ${count} older messages were summed up.`);
	await conversation.store(message, { inFrontOf: messages.length - 1 - at, usage });
}

function computeSummaryTokens(target: number): number {
	return Math.min(4_096, Math.max(128, Math.floor(target / 4)));
}

async function countCharactersPerToken({ options, signal }: PreparedTurn, sent: readonly Message[]): Promise<number> {
	const { parts } = await raceAbort(measureRequest({ ...options, system: undefined }, sent), signal);
	return Math.min(4, Math.max(1, (4 * countTokensHeuristic(sent)) / Math.max(1, parts.messages)));
}

/** Finds the first place from which the request and `more` tokens fit the target. If there is none, tries the limit. */
async function findFirstFitting(
	turn: PreparedTurn,
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
			const { total } = await measureSize(turn, conversation, moveWindow(messages, window, cuts[middle] ?? 0));
			if (total + more <= bound) high = middle;
			else low = middle + 1;
		}
		return cuts[low];
	};
	return (await findFirst(target)) ?? (await findFirst(limit));
}

function measureSize(
	{ options, system, tools, signal }: PreparedTurn,
	conversation: Conversation,
	window: Window,
): Promise<RequestSize> {
	const sent = dropCompacted(selectSent(conversation, window), findVariant(options));
	return raceAbort(measureRequest({ ...options, system }, sent, tools), signal);
}

function countLeftOut(messages: readonly Message[], { from }: Window, at: number): number {
	return messages.slice(from, at).filter(({ role }) => role !== 'system').length;
}

function isUser({ role }: Message): boolean {
	return role === 'user';
}

/** Finds the index of the user message with `count - 1` user messages after it. */
function findUserPlace(messages: readonly Message[], count: number): number {
	let left = count;
	return messages.findLastIndex((message) => isUser(message) && --left === 0);
}

async function warn({ readers }: PreparedTurn, code: string, message: string): Promise<void> {
	await readers.emit({ type: 'warning', code, message });
}
