import type { RunEvent } from '../chat/index.ts';
import { toSse } from '../chat/sse.ts';
import { toResponse } from '../errors.ts';
import { refusalResponse } from './openai/error.ts';
import { type CompletionFormat, chatCompletions } from './openai/protocol.ts';
import { uiFailure, uiProtocol } from './ui/protocol.ts';
import type { UiMessageHead } from './ui/writer.ts';

/**
 * In whose words an answer is written, as data: it goes with a request to the session's object. Missing means Runlet's
 * own (design.md, "The wire").
 */
export type Format =
	| { readonly type: 'runlet' }
	| CompletionFormat
	/** AI SDK pages. `isContinued`: the page has what earlier runs of the answer wrote, and goes on behind it. */
	| { readonly type: 'ui'; readonly isContinued?: boolean };

/** What a protocol is told of the session, where a run's own events do not say enough. */
export interface ProtocolContext {
	/** The message of an AI SDK page that a run writes. */
	readonly uiHead: (run: number, isContinued: boolean) => UiMessageHead;
}

/** Writes the events of a run for one reader. */
export interface RunWriter {
	/** @param id the event's position, for a reader that may come back */
	event(event: RunEvent, id: string | undefined): string;
	/** What stands behind the last event. */
	end(): string;
}

/** A run's answers in somebody's words: a translation of the one event stream. */
export interface Protocol {
	/** Headers of a streamed answer, beside those of every event stream. */
	readonly headers?: Readonly<Record<string, string>>;
	/** A writer for one more reader of a run, by its number. */
	writer(run: number): RunWriter;
	/** The answer that is not streamed, however the run ended: made from all of its events. Missing means Runlet's own. */
	result?(events: readonly RunEvent[]): Response;
	/** A request that was refused, or a run that failed where nobody says `result`. */
	failure(error: unknown): Response;
}

const own: Protocol = {
	writer: () => ({ event: toSse, end: () => '' }),
	failure: toResponse,
};

/** The protocol of a format. */
export function protocolOf(format: Format | undefined, context?: ProtocolContext): Protocol {
	switch (format?.type) {
		case 'chat.completions':
			return chatCompletions(format);
		case 'ui':
			return uiProtocol((run) => {
				if (context === undefined) throw new Error('The page of a session is written in its object.');
				return context.uiHead(run, format.isContinued === true);
			});
		default:
			return own;
	}
}

/** A failure before there was a run, as the path's protocol writes it. */
export function protocolAt(path: string): Pick<Protocol, 'failure'> {
	if (/^\/v1\/ui(\/|$)/.test(path)) return { failure: uiFailure };
	return /^\/v1\/(chat|models)(\/|$)/.test(path) ? { failure: refusalResponse } : own;
}
