import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSseParser } from '../../src/client/stream.ts';

describe('the parser of server-sent events', () => {
	const value = fc.string({ unit: 'binary' }).map((raw) => raw.replace(/[\r\n\0]/g, ''));
	const event = fc.record({
		id: value,
		type: value,
		lines: fc.array(value, { minLength: 1, maxLength: 3 }),
		comment: fc.option(value),
		lineEnd: fc.constantFrom('\r\n', '\n', '\r'),
	});

	test('returns the same events for any split of the bytes', () => {
		fc.assert(
			fc.property(fc.array(event), fc.array(fc.nat()), (events, cuts) => {
				const expected = events.map(({ id, type, lines }) => ({ id, type: type || 'message', data: lines.join('\n') }));
				const bytes = new TextEncoder().encode(events.map(toWire).join(''));
				const parser = createSseParser();
				const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
				const given = edges.slice(1).flatMap((to, index) => parser.push(bytes.subarray(edges[index], to)));
				expect(given).toEqual(expected);
			}),
			{ numRuns: 500 },
		);
	});

	test('returns the same events if the bytes arrive one at a time', () => {
		const bytes = new TextEncoder().encode(
			'\uFEFF: hi\r\n\r\nid: 1\r\nevent: text\r\ndata: añ😀\r\ndata:b\r\n\r\ndata: cut',
		);
		const parser = createSseParser();
		const given = [...bytes].flatMap((byte) => parser.push(Uint8Array.of(byte)));
		expect(given).toEqual([{ id: '1', type: 'text', data: 'añ😀\nb' }]);
	});

	function toWire({ id, type, lines, comment, lineEnd }: typeof event extends fc.Arbitrary<infer T> ? T : never) {
		const all = [`id: ${id}`, `event: ${type}`, ...lines.map((line) => `data: ${line}`), ''];
		if (comment !== null) all.unshift(`:${comment}`);
		return all.map((line) => line + lineEnd).join('');
	}
});
