/** The ids of a caller's span (W3C Trace Context). */
export interface CallerSpan {
	readonly traceId: string;
	readonly spanId: string;
}

/** The form of version 00. A later version may add fields after a hyphen. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Parses a header `traceparent`. Returns nothing for a wrong header, which the specification ignores. */
export function parseTraceparent(header: string | undefined): CallerSpan | undefined {
	const [, version, traceId = '', spanId = '', more] = form.exec(header ?? '') ?? [];
	if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
	return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId };
}

/** Writes a header `traceparent`. Each trace is recorded, whatever a caller wants: only the ids of callers count. */
export function formatTraceparent({ traceId, spanId }: CallerSpan): string {
	return `00-${traceId}-${spanId}-01`;
}
