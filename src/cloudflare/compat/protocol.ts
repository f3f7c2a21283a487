import type { RunEvent } from '../../core/chat/index.ts';
import type { RunletError } from '../../core/ground/errors.ts';

/** Writes the events of a run for one reader. */
export interface RunWriter {
	/** @param id the event's id, for a reader that may come back */
	event(event: RunEvent, id: string | undefined): string;
	/** What stands behind the last event. */
	end(): string;
}

/** A run's answers in somebody's words: a translation of the one event stream. */
export interface Protocol {
	/** Headers of a streamed answer, beside those of every event stream. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether an event is written alike for every reader. */
	readonly isSame?: boolean;
	/** A writer for one more reader of a run, by its number. */
	writer(run: number): RunWriter;
	/** The answer that is not streamed, however the run ended: made from all of its events. Missing means Runlet's own. */
	result?(events: readonly RunEvent[]): Response;
	/** What stands at the end of a stream that its reader may read no longer. The run goes on. */
	closed?(why: RunletError): string;
	/** A request that was refused, or a run that failed where nobody says `result`. */
	failure(error: unknown): Response;
}
