import type { RunEvent } from '../../../core/chat/index.ts';
import type { RunletError } from '../../../core/ground/errors.ts';
import type { ChildEvent } from '../event.ts';
import type { Completion } from './openai/completion.ts';

/** Writes the events of a run for one reader. */
export interface RunWriter {
	/** @param id the event's id, so that a reader can come back */
	event(event: RunEvent, id: string | undefined): string;
	/** The text after the last event. */
	end(): string;
}

/** A translation of a run's events into the words of a protocol. */
export interface Protocol {
	/** Headers of a streamed answer, besides those of every event stream. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether every reader gets the same text for an event. */
	readonly isSame?: boolean;
	/** Makes a writer for a reader of a run, by the number of the run. */
	writer(run: number): RunWriter;
	/** Writes an event of a child. Readers of a protocol without it are shown none. */
	child?(event: ChildEvent, id: string | undefined): string;
	/** Makes the answer that is not streamed from all events of the run. Runlet's own if it is missing. */
	result?(events: readonly RunEvent[]): Completed;
	/** The end of a stream whose reader may no longer read it. The run goes on. */
	closed?(why: RunletError): string;
}

/** A whole answer, or why the run gave none. */
export type Completed = { readonly completion: Completion } | { readonly error: RunletError };
