import type { RunletError } from '../../../core/base/errors.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import type { ChildEvent } from '../event.ts';
import type { Completion } from './openai/completion.ts';

export interface RunWriter {
	/** @param id the event's id, with which a reader can reconnect */
	event(event: RunEvent, id: string | undefined): string;
	end(): string;
}

export interface Protocol {
	/** Headers of a streamed answer, in addition to the headers of every event stream. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether every reader gets the same text for an event. */
	readonly isSame?: boolean;
	/** Makes a writer for a reader. `run` is the number of the run. */
	writer(run: number): RunWriter;
	/** Writes an event of a child session. A protocol without this method shows no such events. */
	child?(event: ChildEvent, id: string | undefined): string;
	/** Makes a non-streamed answer from all events of the run. The default is an answer in Runlet's form. */
	result?(events: readonly RunEvent[]): Completed;
	/** Returns the end of a stream whose reader lost access. The run continues. */
	closed?(why: RunletError): string;
}

/** A whole answer, or the error of a run without an answer. */
export type Completed = { readonly completion: Completion } | { readonly error: RunletError };
