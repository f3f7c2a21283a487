import { raceAbort } from '../../core/base/promises.ts';
import { LineSplitter } from '../../core/base/text.ts';
import type { MessagePart } from '../../core/chat/index.ts';
import type { JsonSchema } from '../../core/tool/index.ts';
import type { Bytes, Failure } from './reach.ts';

/** A call of a tool without a run, such as a call by an MCP client. */
export interface OutsideCall {
	readonly agent: string;
	readonly tool: string;
	readonly input: unknown;
	/** Whether the caller can ask a person. If not, a call that would have to wait is not made. */
	readonly canAsk: boolean;
	/** A person's answer to the call with the name `waiting`. The caller sends the call again with the answer. */
	readonly answer?: { readonly waiting: string } & OutsideAnswer;
}

export type OutsideAnswer =
	| { readonly gives: 'refusal' | 'permission' }
	/** A result, or the answer to a question. */
	| { readonly gives: 'value'; readonly value: unknown };

/** A permission, a result, or the answer to a question. */
export type WaitsFor = 'approval' | 'result' | 'answer';

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
			/** The name of the waiting call. Missing if the caller cannot ask a person. */
			readonly waiting?: string;
			/** What the call would do, as its tool says. */
			readonly preview?: string;
			readonly question?: string;
			readonly options?: Readonly<Record<string, unknown>>;
	  }
	| ({ readonly type: 'failed' } & Failure);

/** A line of JSON. The line of the type `end` is the last line. */
export type OutsideLine = { readonly type: 'note'; readonly label: string; readonly detail?: string } | OutsideEnd;

export interface ListedTool {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema?: JsonSchema;
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** Whether a repeated call has no further effect. */
	readonly isRepeatable: boolean;
	/** Whether a person gives its results. */
	readonly isManual?: boolean;
}

/**
 * Reads lines of JSON. Yields `beat`, if there is one, for each comment that keeps the connection open. An abort closes
 * the stream.
 */
export async function* readLines<Line>(
	bytes: Bytes,
	signal: AbortSignal,
	beat?: Line,
): AsyncGenerator<Line, undefined> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	const leave = (): void => void reader.cancel().catch(() => {});
	/** Added before any `await`, so that an abort stops the work at once. */
	signal.addEventListener('abort', leave, { once: true });
	try {
		for (;;) {
			const { done, value } = await raceAbort(reader.read(), signal);
			if (done) return;
			for (const line of splitter.push(decoder.decode(value, { stream: true })))
				if (!line.startsWith(':')) yield JSON.parse(line);
				else if (beat !== undefined) yield beat;
		}
	} finally {
		signal.removeEventListener('abort', leave);
		leave();
	}
}
