/** The place in a trace that the address of the page names: a run and one of its spans. */

import { type TracePlace, toSessionAddress, toTraceAddress } from '../parts/address.ts';
import type { Trace } from './load.ts';

interface Options {
	/** Opens a run and a span. Returns whether the run is shown. */
	readonly show: (run: string, span?: string) => boolean;
	readonly readOlder: () => Promise<void> | undefined;
	/** Called if the session has no such run. */
	readonly onUnknown: () => void;
}

export function createPlace(readSession: () => string | undefined, { show, readOlder, onUnknown }: Options) {
	/** The place that is not shown yet. */
	let wanted: TracePlace = {};
	return {
		want(place: TracePlace): void {
			wanted = place;
		},
		/** Opens the wanted place. Reads older runs until the run is found. */
		reveal({ runs, hasOlder }: Trace): void {
			const { run, span } = wanted;
			if (run === undefined) return;
			if (hasOlder && !runs.some(({ id }) => id === run)) return void readOlder()?.catch(() => {});
			wanted = {};
			if (!show(run, span)) onUnknown();
		},
		/** Names what is shown in the address of the page, so that a person can share it. Undefined means no trace. */
		point(place: TracePlace | undefined): void {
			const session = readSession();
			if (session === undefined) return;
			const address = place === undefined ? toSessionAddress(session) : toTraceAddress(session, place);
			history.replaceState(history.state, '', address);
		},
		/** Returns the whole address of a place. */
		toLink: (place: TracePlace): string => new URL(toTraceAddress(readSession() ?? '', place), location.href).href,
	};
}
