/** Reads how long calls waited for a person, and when they then began. Messages have only the time of the result. */

import { isRecord } from '../../client/record.ts';
import type { SessionClient } from '../../client/sessions.ts';

export interface TimedCall {
	/** When the tool began to run, in milliseconds since 1970. Missing if no tool ran. */
	readonly start?: number;
	readonly wait?: { readonly start: number; readonly end: number };
}

type TraceClient = Pick<SessionClient, 'getTrace'>;

export type Waits = ReturnType<typeof createWaits>;

/** Keeps what was read of each run, because the times of an answered call do not change. */
export function createWaits(client: TraceClient, signal: AbortSignal) {
	const known = new Map<string, Promise<ReadonlyMap<string, TimedCall>>>();
	return {
		/** Returns the calls of a run that people answered, by call id. Without the right to read traces, there are none. */
		read(session: string, run: string): Promise<ReadonlyMap<string, TimedCall>> {
			const key = `${session} ${run}`;
			const reading = known.get(key) ?? client.getTrace(session, { run, signal }).then(parseTrace, () => new Map());
			known.set(key, reading);
			return reading;
		},
	};
}

/** Parses the spans of OTLP/JSON (docs/observability.md, "Traces"). */
function parseTrace({ resourceSpans }: { readonly resourceSpans: readonly unknown[] }): Map<string, TimedCall> {
	const calls = new Map<string, TimedCall>();
	const scopes = resourceSpans.flatMap((resource) => listIn(resource, 'scopeSpans'));
	for (const span of scopes.flatMap((scope) => listIn(scope, 'spans'))) {
		const id = findCallId(span);
		if (id === undefined || !isRecord(span)) continue;
		const [start, end] = [toMs(span.startTimeUnixNano), toMs(span.endTimeUnixNano)];
		if (String(span.name).startsWith('execute_tool ')) calls.set(id, { ...calls.get(id), start });
		else if (start !== undefined && end !== undefined) calls.set(id, { ...calls.get(id), wait: { start, end } });
	}
	return calls;
}

function listIn(value: unknown, field: string): readonly unknown[] {
	const list = isRecord(value) ? value[field] : undefined;
	return Array.isArray(list) ? list : [];
}

function findCallId(span: unknown): string | undefined {
	const found = listIn(span, 'attributes').find((one) => isRecord(one) && one.key === 'gen_ai.tool.call.id');
	const value = isRecord(found) && isRecord(found.value) ? found.value.stringValue : undefined;
	return typeof value === 'string' ? value : undefined;
}

function toMs(nanoseconds: unknown): number | undefined {
	return typeof nanoseconds === 'string' ? Number(nanoseconds) / 1e6 : undefined;
}
