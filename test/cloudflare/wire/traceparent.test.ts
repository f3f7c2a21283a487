import { expect, test } from 'vitest';
import { formatTraceparent, parseTraceparent } from '../../../src/cloudflare/wire/traceparent.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test.each([
	`00-${traceId}-${spanId}-01`,
	`00-${traceId}-${spanId}-00`,
	`01-${traceId}-${spanId}-01`,
	`cc-${traceId}-${spanId}-01-what-the-future-will-be-like`,
])('the ids of %s are taken', (header) => {
	expect(parseTraceparent(header)).toEqual({ traceId, spanId });
});

test.each([
	undefined,
	'',
	'00',
	`00-${traceId}-${spanId}`,
	`00-${traceId}-${spanId}-01-more`,
	`00-${traceId}-${spanId}-01.`,
	`cc-${traceId}-${spanId}-01.what-the-future-will-be-like`,
	`ff-${traceId}-${spanId}-01`,
	`00-${'0'.repeat(32)}-${spanId}-01`,
	`00-${traceId}-${'0'.repeat(16)}-01`,
	`00-${traceId.toUpperCase()}-${spanId}-01`,
	`00-${traceId.slice(1)}-${spanId}-01`,
	`00-${traceId}-${spanId}x-01`,
	`00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
	`00-${traceId}-${spanId}-01\n`,
])('the wrong header %j is ignored', (header) => {
	expect(parseTraceparent(header)).toBeUndefined();
});

test('parsing a written header returns the same ids', () => {
	expect(parseTraceparent(formatTraceparent({ traceId, spanId }))).toEqual({ traceId, spanId });
});
