import { RunletError } from '../../../core/base/errors.ts';
import { isTerminal } from '../../../core/chat/event.ts';
import {
	addUsage,
	type ChatUsage,
	type RunEvent,
	type TerminalEvent,
	type WaitingCall,
} from '../../../core/chat/index.ts';
import { isWebUrl } from '../../../core/chat/provider-tool.ts';
import { findJson } from '../../../core/chat/requirements.ts';

export interface PieceOptions {
	/** Names of the client's tools. */
	readonly tools: readonly string[];
	/** Whether the answer is only JSON. */
	readonly isJson?: boolean;
	/** The answer ends before the first occurrence of one of these texts. */
	readonly stop?: readonly string[];
}

/** The end of an answer. */
export interface PieceEnd {
	readonly type: 'end';
	/** Why the answer ended. Any other reason of a model is `end_turn`. */
	readonly reason: 'end_turn' | 'max_tokens' | 'refusal' | 'tool_use';
	/** The stop word that ended the text. The run itself did not end there. */
	readonly stopWord?: string;
	/** The calls that are left to the client. */
	readonly calls: readonly WaitingCall[];
	/** The pages that the answer rests on, each once. */
	readonly pages: readonly CitedPage[];
	readonly usage: ChatUsage;
}

export interface CitedPage {
	readonly url: string;
	readonly title: string;
	/** The cited words. */
	readonly quote?: string;
}

export type Piece =
	| { readonly type: 'text' | 'reasoning'; readonly text: string }
	| PieceEnd
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
	const pages = createPages();
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

	const show = (text: string): Piece[] => (text === '' ? [] : [{ type: 'text', text }]);
	const say = (text: string): Piece[] => {
		if (isJson) return [];
		if (!owed.startsWith(text) && !text.startsWith(owed)) return fail(createRestarted());
		const added = text.slice(owed.length);
		owed = owed.slice(text.length);
		const gap = hasSpoken && turn === '' && added !== '' ? '\n\n' : '';
		turn += added;
		return show(stopper.take(gap + added));
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
	const end = (reason: PieceEnd['reason'], of: ChatUsage = usage, calls: readonly WaitingCall[] = []): Piece[] => {
		isOver = true;
		const about = { stopWord: stopper.findWord(), calls, pages: pages.list(), usage: of };
		return [...show(stopper.end()), { type: 'end', reason, ...about }];
	};
	const answer = (text: string): Piece[] => (isJson ? show(findJson(text) ?? text) : []);
	const ask = (asked: string): Piece[] =>
		isJson ? fail(new RunletError('awaiting_user', `A tool asks: ${asked}`)) : [...say(asked), ...end('end_turn')];
	const toEnd = (event: TerminalEvent): Piece[] => {
		switch (event.type) {
			case 'done':
				return [...answer(event.text), ...end(toReason(stopReason), event.usage)];
			case 'halted':
				if (isJson) return fail(new RunletError('halted', `A tool stopped the run: ${event.reason}.`));
				return [...(hasSpoken || turn !== '' ? [] : say(event.reason)), ...end('end_turn')];
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
				return end(calls.length > 0 ? 'tool_use' : 'end_turn', usage, calls);
			}
		}
	};

	return (event) => {
		if (isOver) return [];
		pages.take(event);
		switch (event.type) {
			case 'text':
				return say(event.text);
			case 'reasoning':
				hasThought = true;
				return isThought ? [] : [{ type: 'reasoning', text: event.text }];
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

function toReason(stopReason: string): PieceEnd['reason'] {
	return stopReason === 'max_tokens' || stopReason === 'refusal' ? stopReason : 'end_turn';
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

/** Collects the pages that an answer cites. The protocols have no field for other sources. */
function createPages() {
	const pages = new Map<string, CitedPage & { isNew: boolean }>();
	return {
		take(event: RunEvent): void {
			if (event.type === 'source' && isWebUrl(event.url) && !pages.has(event.url))
				pages.set(event.url, { url: event.url, title: event.title ?? event.url, quote: event.quote, isNew: true });
			if (event.type === 'step') for (const page of pages.values()) page.isNew = false;
			if (event.type === 'turn.restarted') for (const [url, { isNew }] of pages) if (isNew) pages.delete(url);
		},
		list: (): readonly CitedPage[] => [...pages.values()].map(({ isNew: _, ...page }) => page),
	};
}

/** Cuts off a text before the first stop word, even if that word is split over several pieces. */
function createStopper(words: readonly string[]) {
	/** Text that is held back because it may be the start of a word. */
	let held = '';
	let found: string | undefined;
	return {
		/** Returns the word that ended the text. */
		findWord: () => found,
		/** Adds a piece and returns the text that can be shown now. */
		take: (more: string): string => {
			if (found !== undefined) return '';
			const text = held + more;
			const places = words.map((word) => text.indexOf(word)).filter((place) => place !== -1);
			if (places.length > 0) {
				const place = Math.min(...places);
				found = words.find((word) => text.startsWith(word, place));
				held = '';
				return text.slice(0, place);
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
