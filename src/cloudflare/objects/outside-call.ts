import { LineSplitter } from '../../core/base/text.ts';
import type { MessagePart } from '../../core/chat/index.ts';
import { raceAbort } from '../../core/chat/signal.ts';
import type { JsonSchema } from '../../core/tool/index.ts';
import type { Bytes, Failure } from './result.ts';

/** A call of a tool from outside of a run, such as that of an MCP client. */
export interface OutsideCall {
	readonly agent: string;
	readonly tool: string;
	readonly input: unknown;
	/** Whether the caller can ask a person. If not, a call that has to wait for one is left alone. */
	readonly canAsk: boolean;
	/** What a person says to the call that waits under this name. The call is sent once more with it. */
	readonly answer?: { readonly waiting: string } & OutsideAnswer;
}

/** The answer of a person: what they say, or that they refuse. */
export type OutsideAnswer = { readonly isRefused: true } | { readonly isRefused: false; readonly value: unknown };

/** What a call waits for: permission, its result, or the answer to its question. */
export type WaitsFor = 'approval' | 'result' | 'answer';

/** The end of such a call. */
export type OutsideEnd =
	| {
			readonly type: 'result';
			readonly output: unknown;
			readonly isError: boolean;
			readonly parts?: readonly MessagePart[];
	  }
	| {
			readonly type: 'waits';
			readonly for: WaitsFor;
			/** The name under which it waits. Missing if the caller cannot ask a person. */
			readonly waiting?: string;
			readonly question?: string;
			readonly options?: Readonly<Record<string, unknown>>;
	  }
	| ({ readonly type: 'failed' } & Failure);

/** What a reader of such a call gets: a line of JSON each, and the end as the last one. */
export type OutsideLine = { readonly type: 'note'; readonly label: string; readonly detail?: string } | OutsideEnd;

/** A tool as somebody outside sees it. */
export interface ListedTool {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** Whether a call may be repeated without doing anything twice. */
	readonly isRepeatable: boolean;
}

/**
 * Reads lines of JSON that a session's object writes; not the comments by which it keeps the connection open. An abort
 * leaves them, of which the object is told.
 */
export async function* readLines<Line>(bytes: Bytes, signal: AbortSignal): AsyncGenerator<Line, undefined> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	const leave = (): void => void reader.cancel().catch(() => {});
	// At once: where the client has left, nothing of its request runs any more behind an await.
	signal.addEventListener('abort', leave, { once: true });
	try {
		for (;;) {
			const { done, value } = await raceAbort(reader.read(), signal);
			if (done) return;
			for (const line of splitter.push(decoder.decode(value, { stream: true })))
				if (!line.startsWith(':')) yield JSON.parse(line);
		}
	} finally {
		signal.removeEventListener('abort', leave);
		leave();
	}
}
