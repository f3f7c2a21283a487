import * as v from 'valibot';
import { described } from './field.ts';
import { maxId, shortText } from './limits.ts';

/** The attributes of a span in the form of OTLP/JSON. */
export type TraceAttributes = readonly {
	readonly key: string;
	readonly value:
		| { readonly stringValue: string }
		| { readonly intValue: string }
		| { readonly doubleValue: number }
		| { readonly arrayValue: { readonly values: readonly { readonly stringValue: string }[] } };
}[];

/** A span in the form of OTLP/JSON. Ids are hex, of 16 and of 8 bytes. */
export interface TraceSpan {
	readonly traceId: string;
	readonly spanId: string;
	readonly parentSpanId?: string;
	readonly name: string;
	/** 1 is internal, 3 is a request to a provider. */
	readonly kind: number;
	/** Nanoseconds since 1970. */
	readonly startTimeUnixNano: string;
	readonly endTimeUnixNano: string;
	readonly attributes: TraceAttributes;
	/** The trace of a child session. */
	readonly links?: readonly {
		readonly traceId: string;
		readonly spanId: string;
		readonly attributes: TraceAttributes;
	}[];
	/** 2 is an error. */
	readonly status?: { readonly code: number };
}

/** The traces of a session as OTLP/JSON (docs/observability.md). */
export const trace = v.object({ resourceSpans: v.array(v.record(v.string(), v.unknown())) });

/** The query of a trace. */
export const traceQuery = v.object({
	run: v.optional(v.pipe(shortText(maxId), v.nonEmpty('Expected the id of a run'))),
	content: v.optional(described(v.picklist(['true', 'false']), 'Whether spans have texts, arguments and results.')),
});
