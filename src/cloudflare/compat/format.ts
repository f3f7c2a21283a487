import { toSse } from '../../core/chat/sse.ts';
import { toResponse } from '../../core/ground/errors.ts';
import { refusalResponse } from './openai/error.ts';
import { type CompletionFormat, chatCompletions } from './openai/protocol.ts';
import type { Protocol } from './protocol.ts';
import { uiFailure, uiProtocol } from './ui/protocol.ts';
import type { UiMessageHead } from './ui/writer.ts';

/**
 * In whose words an answer is written, as data: it goes with a request to the session's object. Missing means Runlet's
 * own.
 */
export type Format =
	| CompletionFormat
	/** AI SDK pages. `isContinued`: the page has what earlier runs of the answer wrote, and goes on behind it. */
	| { readonly type: 'ui'; readonly isContinued?: boolean };

/** What a protocol is told of the session, where a run's own events do not say enough. */
export interface ProtocolContext {
	/** The message of an AI SDK page that a run writes. */
	readonly uiHead: (run: number, isContinued: boolean) => UiMessageHead;
}

const own: Protocol = {
	isSame: true,
	writer: () => ({ event: toSse, end: () => '' }),
	closed: ({ code, message }) => `event: closed\ndata: ${JSON.stringify({ type: 'closed', code, message })}\n\n`,
	failure: toResponse,
};

/** The protocol of a format. */
export function createProtocol(format: Format | undefined, context?: ProtocolContext): Protocol {
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
