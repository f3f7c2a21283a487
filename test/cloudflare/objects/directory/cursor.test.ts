import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCursor, parseCursor } from '../../../../src/cloudflare/objects/directory/api.ts';

test('a cursor encodes the time and the id of a session', () => {
	const place = fc.record({ activeAt: fc.nat(8.64e15), id: fc.stringMatching(/^[\w-]{1,128}$/) });
	fc.assert(
		fc.property(place, (behind) => {
			expect(parseCursor(createCursor(behind))).toEqual(behind);
		}),
	);
});

test('an invalid cursor is refused with the name of the field', () => {
	for (const text of ['', '1', '1.', '.a', '-1.a', '1.5.a', '1e3.a', ' 1.a', '1.a\n', '1.ä', "1.'--"]) {
		expect(() => parseCursor(text), text).toThrow(/^cursor: Expected a cursor/);
	}
});
