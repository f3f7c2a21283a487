import { toResponse } from '../../../core/base/errors.ts';
import { toSse } from '../../../core/chat/event.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import type { ChildEvent } from '../event.ts';
import { mcpFailure, runLines } from './mcp/protocol.ts';
import { refusalResponse } from './openai/error.ts';
import { type CompletionFormat, chatCompletions } from './openai/protocol.ts';
import type { Protocol } from './protocol.ts';
import { uiFailure, uiProtocol } from './ui/protocol.ts';
import type { UiMessageHead } from './ui/writer.ts';

/** The protocol of an answer. Each request sends this to the session's object. The default is Runlet's own protocol. */
export type Format =
	| CompletionFormat
	/** For the parent of a session: lines of JSON, each with an event and its id. */
	| { readonly type: 'lines' }
	/** For a route that writes another protocol: lines of JSON, each with an event and its id. The last can be `closed`. */
	| { readonly type: 'events' }
	/** For MCP clients. */
	| { readonly type: 'mcp' }
	/** For AI SDK pages. `isContinued`: the page already has the text of the earlier runs of the answer. */
	| { readonly type: 'ui'; readonly isContinued?: boolean };

export interface ProtocolContext {
	/** The head of the UI message that a run writes. */
	readonly uiHead: (run: number, isContinued: boolean) => UiMessageHead;
}

const own: Protocol = {
	isSame: true,
	writer: () => ({ event: toSse, end: () => '' }),
	child: toSse,
	closed: ({ code, message }) => `event: closed\ndata: ${JSON.stringify({ type: 'closed', code, message })}\n\n`,
};

const toLine = (event: RunEvent | ChildEvent, id: string | undefined) => `${JSON.stringify({ event, id })}\n`;
const writer = () => ({ event: toLine, end: () => '' });
const lines: Protocol = { isSame: true, writer, child: toLine };
const events: Protocol = {
	writer,
	closed: ({ code, message, data }) => `${JSON.stringify({ closed: { code, message, data } })}\n`,
};

export function createProtocol(format: Format | undefined, context?: ProtocolContext): Protocol {
	switch (format?.type) {
		case 'chat.completions':
			return chatCompletions(format);
		case 'ui':
			return uiProtocol((run) => {
				if (context === undefined) throw new Error('The page of a session is written in its object.');
				return context.uiHead(run, format.isContinued === true);
			});
		case 'mcp':
			return runLines;
		case 'lines':
			return lines;
		case 'events':
			return events;
		default:
			return own;
	}
}

export function toFailureAt(path: string, error: unknown): Response {
	if (/^\/v1\/ui(\/|$)/.test(path)) return uiFailure(error);
	if (/^\/mcp(\/|$)/.test(path)) return mcpFailure(error);
	return /^\/v1\/(chat|models)(\/|$)/.test(path) ? refusalResponse(error) : toResponse(error);
}
