import { RunletError } from '../../../../core/base/errors.ts';
import { isTerminal } from '../../../../core/chat/event.ts';
import {
	addUsage,
	type ChatUsage,
	type RunEvent,
	type TerminalEvent,
	type WaitingCall,
} from '../../../../core/chat/index.ts';
import { isWebUrl } from '../../../../core/chat/provider-tool.ts';
import { findJson } from '../../../../core/chat/requirements.ts';
import { toInputText } from '../../../../core/tool/call.ts';
import type { CompletionUsage, Delta, FinishReason } from './completion.ts';

export interface PieceOptions {
	/** Names of the client's tools. */
	readonly tools: readonly string[];
	/** Whether the answer is only JSON. */
	readonly isJson?: boolean;
	/** The answer ends before the first occurrence of one of these texts. */
	readonly stop?: readonly string[];
}

export type Piece =
	| { readonly type: 'delta'; readonly delta: Delta }
	| {
			readonly type: 'end';
			readonly reason: FinishReason;
			readonly usage: CompletionUsage;
			/** The last delta, with the sources of the answer. */
			readonly delta: Delta;
	  }
	| { readonly type: 'failure'; readonly error: RunletError };

/**
 * Translates a run's events, in order, into pieces of one answer. The last piece is the end or the failure. The agent's
 * own calls are left out. A blank line separates the texts of the turns. A tool's question becomes text. If a run is
 * halted before any text, the reason becomes text. A run that waits for something the client cannot give is a failure.
 *
 * Shown text cannot be withdrawn. So a turn that restarts must repeat its shown text. If the text differs, the answer
 * is a failure.
 *
 * A JSON answer is only the last turn's text. It comes in one piece, because it is checked first. A run that asks or
 * was halted has no JSON answer.
 *
 * The calls of the client's tools come complete and at the end, so a call that the run refused is never shown.
 */
export function listPieces({
	tools,
	isJson = false,
	stop: stopWords = [],
}: PieceOptions): (event: RunEvent) => Piece[] {
	const stopper = createStopper(stopWords);
	const annotations = createAnnotations();
	/** Whether an earlier turn had text. */
	let hasSpoken = false;
	let turn = '';
	/** The shown text that a restarted turn has to repeat. */
	let owed = '';
	let hasThought = false;
	/** Whether the turn restarted after its thinking was shown. */
	let isThought = false;
	let usage: ChatUsage = {};
	let stopReason = 'end_turn';
	let isOver = false;

	const show = (content: string): Piece[] => (content === '' ? [] : [{ type: 'delta', delta: { content } }]);
	const say = (text: string): Piece[] => {
		if (isJson) return [];
		if (!owed.startsWith(text) && !text.startsWith(owed)) return fail(createRestarted());
		const added = text.slice(owed.length);
		owed = owed.slice(text.length);
		if (added === '') return [];
		const content = hasSpoken && turn === '' ? `\n\n${added}` : added;
		turn += added;
		return show(stopper.take(content));
	};
	const close = (): void => {
		hasSpoken ||= turn !== '';
		turn = '';
		hasThought = false;
		isThought = false;
	};
	const fail = (error: RunletError): Piece[] => {
		isOver = true;
		return [{ type: 'failure', error }];
	};
	const end = (reason: FinishReason, of: ChatUsage = usage): Piece[] => {
		isOver = true;
		return [...show(stopper.end()), { type: 'end', reason, usage: wireUsage(of), delta: annotations.createDelta() }];
	};
	const answer = (text: string): Piece[] => (isJson ? show(findJson(text) ?? text) : []);
	const ask = (question: string): Piece[] =>
		isJson ? fail(new RunletError('awaiting_user', `A tool asks: ${question}`)) : [...say(question), ...end('stop')];
	const toEnd = (event: TerminalEvent): Piece[] => {
		switch (event.type) {
			case 'done':
				return [...answer(event.text), ...end(finishReasons[stopReason] ?? 'stop', event.usage)];
			case 'halted':
				if (isJson) return fail(new RunletError('halted', `A tool stopped the run: ${event.reason}.`));
				return [...(hasSpoken || turn !== '' ? [] : say(event.reason)), ...end('stop')];
			case 'cancelled':
				return fail(new RunletError('cancelled', 'The run was cancelled.'));
			case 'error':
				return fail(new RunletError(event.code, event.message, event.data));
			case 'awaiting': {
				close();
				if (event.question !== undefined) return ask(event.question.question);
				const calls = event.toolCalls ?? [];
				const others = calls.filter(({ name, kind }) => kind !== undefined || !tools.includes(name));
				if (others.length > 0) return fail(createWaitsForOthers(others));
				return [...calls.flatMap(callPieces), ...end(calls.length > 0 ? 'tool_calls' : 'stop')];
			}
		}
	};

	return (event) => {
		if (isOver) return [];
		annotations.take(event);
		switch (event.type) {
			case 'text':
				return say(event.text);
			case 'reasoning':
				hasThought = true;
				return isThought ? [] : [{ type: 'delta', delta: { reasoning_content: event.text } }];
			case 'stop':
				if (owed !== '') return fail(createRestarted());
				usage = addUsage(usage, event.usage);
				stopReason = event.reason;
				return [];
			case 'step':
				close();
				return [];
			case 'turn.restarted':
				owed = turn;
				isThought = hasThought;
				return [];
			default:
				return isTerminal(event) ? toEnd(event) : [];
		}
	};
}

/** Returns the events without restarted turns. Call it only before any part of the answer was shown. */
export function withoutRestarted(events: readonly RunEvent[]): readonly RunEvent[] {
	const kept: RunEvent[] = [];
	let turnAt = 0;
	for (const event of events) {
		if (event.type === 'turn.restarted') kept.length = turnAt;
		else kept.push(event);
		if (event.type === 'step') turnAt = kept.length;
	}
	return kept;
}

const finishReasons: Readonly<Record<string, FinishReason>> = { max_tokens: 'length', refusal: 'content_filter' };

function callPieces({ id, name, input }: WaitingCall, index: number): Piece[] {
	const text = toInputText(input);
	const head = { index, id, type: 'function' as const, function: { name, arguments: '' } };
	return [head, { index, function: { arguments: text } }].map((call) => ({
		type: 'delta',
		delta: { tool_calls: [call] },
	}));
}

function wireUsage(usage: ChatUsage): CompletionUsage {
	const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage;
	const { cachedInputTokens = 0, reasoningTokens = 0, costUsd, unpriced } = usage;
	return {
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: totalTokens,
		prompt_tokens_details: { cached_tokens: cachedInputTokens },
		completion_tokens_details: { reasoning_tokens: reasoningTokens },
		cost: unpriced === undefined ? costUsd : undefined,
	};
}

function createRestarted(): RunletError {
	return new RunletError(
		'interrupted',
		'The answer restarted after a crash and is now different. Ignore the text so far. Ask again, or read the answer in the session that the header Runlet-Session names.',
	);
}

function createWaitsForOthers(calls: readonly WaitingCall[]): RunletError {
	const names = [...new Set(calls.map(({ name }) => name))].join(', ');
	const what = calls.some(({ kind }) => kind === 'approval') ? 'somebody to approve' : 'what somebody else has to do';
	return new RunletError(
		'awaiting_tools',
		`The run waits for ${what}: ${names}. This protocol cannot answer that. POST to /v1/sessions/ID/tool-results of the session that the header Runlet-Session names.`,
	);
}

/** Collects the pages that an answer cites. The protocol has no field for other sources. */
function createAnnotations() {
	const pages = new Map<string, { readonly title: string; isNew: boolean }>();
	return {
		take(event: RunEvent): void {
			if (event.type === 'source' && isWebUrl(event.url) && !pages.has(event.url))
				pages.set(event.url, { title: event.title ?? event.url, isNew: true });
			if (event.type === 'step') for (const page of pages.values()) page.isNew = false;
			if (event.type === 'turn.restarted') for (const [url, { isNew }] of pages) if (isNew) pages.delete(url);
		},
		/** Returns the delta that lists each page once. */
		createDelta(): Delta {
			const annotations = [...pages].map(([url, { title }]) => ({
				type: 'url_citation' as const,
				url_citation: { url, title, start_index: 0, end_index: 0 },
			}));
			return annotations.length === 0 ? {} : { annotations };
		},
	};
}

/** Cuts off a text before the first stop word, even if that word is split over several pieces. */
function createStopper(words: readonly string[]) {
	/** Text that is held back because it may be the start of a word. */
	let held = '';
	let isOver = false;
	return {
		/** Adds a piece and returns the text that can be shown now. */
		take: (more: string): string => {
			if (isOver) return '';
			const text = held + more;
			const places = words.map((word) => text.indexOf(word)).filter((place) => place !== -1);
			if (places.length > 0) {
				isOver = true;
				held = '';
				return text.slice(0, Math.min(...places));
			}
			const kept = Math.max(0, ...words.map((word) => measureWordStart(text, word)));
			held = text.slice(text.length - kept);
			return text.slice(0, text.length - kept);
		},
		end: (): string => {
			const rest = held;
			held = '';
			return rest;
		},
	};
}

function measureWordStart(text: string, word: string): number {
	for (let length = Math.min(text.length, word.length - 1); length > 0; length--)
		if (text.endsWith(word.slice(0, length))) return length;
	return 0;
}
