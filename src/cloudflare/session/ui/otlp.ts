import type { TraceAttributes, TraceSpan } from '../../wire/trace.ts';

type Value = TraceAttributes[number]['value'];

/** Makes the value of an attribute: a text, or a list of texts. */
export function text(value: string | readonly string[] | undefined): Value | undefined {
	if (value === undefined) return undefined;
	if (typeof value === 'string') return { stringValue: value };
	return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
}

/** Makes the value of an attribute: an integer. */
export function integer(value: number | undefined): Value | undefined {
	return value === undefined ? undefined : { intValue: String(Math.round(value)) };
}

/** Makes the value of an attribute: any number. */
export function double(value: number | undefined): Value | undefined {
	return value === undefined ? undefined : { doubleValue: value };
}

/** Makes attributes. Leaves out those without a value. */
export function toAttributes(values: Readonly<Record<string, Value | undefined>>): TraceAttributes {
	return Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]));
}

interface SpanTimes {
	/** Milliseconds since 1970. */
	readonly begin: number;
	/** Milliseconds since 1970. An end before the beginning counts as the beginning: a clock may go back. */
	readonly end: number;
}

/** Makes the times of a span. */
export function toTimes({ begin, end }: SpanTimes): Pick<TraceSpan, 'startTimeUnixNano' | 'endTimeUnixNano'> {
	return { startTimeUnixNano: toNanoseconds(begin), endTimeUnixNano: toNanoseconds(Math.max(begin, end)) };
}

function toNanoseconds(milliseconds: number): string {
	return `${Math.round(milliseconds)}000000`;
}
