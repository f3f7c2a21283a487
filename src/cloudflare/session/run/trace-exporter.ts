import type { Config } from '../../config/config.ts';
import type { SessionStore } from '../store/store.ts';
import type { SessionLabels } from './labels.ts';

/** What `otlp` of `runlet/cloudflare/traces` gives to sessions. */
export interface TraceExporter {
	/** @internal */
	open(session: TracedSession): SessionTraces;
}

/** @internal */
export interface TracedSession {
	readonly store: SessionStore;
	readonly labels: Pick<SessionLabels, 'words'>;
	/** Reads the environment when it is needed. */
	readonly config: () => Config;
}

/** @internal The traces of a session that have to be exported. They are made of its stored runs, so nothing is stored. */
export interface SessionTraces {
	/**
	 * Finds out whether an earlier instance of the object left traces. Call it before this instance sets the alarm. Does
	 * nothing after the first call.
	 *
	 * @param isAlarm whether the alarm has fired, which says that traces may be left
	 */
	look(isAlarm: boolean): void;
	/** Returns when the next export is due, in milliseconds since 1970. Returns nothing if all traces are exported. */
	nextAt(now: number): number | undefined;
	/** Exports the traces that are due. Rejects only if the storage fails. */
	send(now: number): Promise<void>;
}
