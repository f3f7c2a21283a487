import * as v from 'valibot';
import { described } from './field.ts';
import { maxId, shortText } from './limits.ts';

const attributes = v.array(
	v.object({
		key: v.string(),
		value: v.union([
			v.object({ stringValue: v.string() }),
			v.object({ intValue: v.string() }),
			v.object({ doubleValue: v.number() }),
			v.object({ arrayValue: v.object({ values: v.array(v.object({ stringValue: v.string() })) }) }),
		]),
	}),
);

const traceId = described(v.string(), '16 bytes in hex.');
const spanId = described(v.string(), '8 bytes in hex.');
const nanoseconds = described(v.string(), 'Nanoseconds since 1970.');

const span = v.object({
	traceId,
	spanId,
	parentSpanId: v.optional(spanId),
	name: v.string(),
	kind: described(v.number(), '1 is internal, 3 is a request to a provider.'),
	startTimeUnixNano: nanoseconds,
	endTimeUnixNano: nanoseconds,
	attributes,
	links: v.optional(described(v.array(v.object({ traceId, spanId, attributes })), 'The trace of a child session.')),
	status: v.optional(v.object({ code: described(v.number(), '2 is an error.') })),
});

/** A span in the form of OTLP/JSON. */
export type TraceSpan = v.InferOutput<typeof span>;

/** The attributes of a span in the form of OTLP/JSON. */
export type TraceAttributes = TraceSpan['attributes'];

/** The traces of a session as OTLP/JSON (docs/observability.md). */
export const trace = v.object({
	resourceSpans: v.array(
		v.object({
			resource: v.object({ attributes }),
			scopeSpans: v.array(v.object({ scope: v.object({ name: v.string() }), spans: v.array(span) })),
		}),
	),
});

/** The query of a trace. */
export const traceQuery = v.object({
	run: v.optional(
		described(v.pipe(shortText(maxId), v.nonEmpty('Expected the id of a run')), 'Only the trace with this run.'),
	),
	content: v.optional(described(v.picklist(['true', 'false']), 'Whether spans have texts, arguments and results.')),
});
