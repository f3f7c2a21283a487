import { expect, test } from 'vitest';
import { KeptRecords, type SizedRecord } from '../../../src/cloudflare/session/store/message-record.ts';

const toSized = (seq: number, size = 10): SizedRecord<{ readonly seq: number }> => ({ record: { seq }, size });
const listPlaces = (kept: KeptRecords<{ readonly seq: number }>): readonly number[] =>
	kept.read().all.map(({ record }) => record.seq);

/** Caches the records of a table with these places. `change` changes that table. */
function createKept(...places: readonly number[]) {
	let version = 0;
	const kept = new KeptRecords<{ readonly seq: number }>(() => version, 40);
	kept.read();
	kept.addOlder(
		0,
		places.map((place) => toSized(place)),
	);
	return {
		kept,
		change: () => {
			version++;
		},
	};
}

test('keeps a new record at its place among others', () => {
	const { kept, change } = createKept(1, 5);
	change();
	kept.add(toSized(3));
	expect(kept.isCurrent).toBe(true);
	expect(listPlaces(kept)).toEqual([1, 3, 5]);
});

test('drops the oldest records over the limit, and returns the place from which on it is complete', () => {
	const { kept } = createKept(1, 2, 3, 4);
	kept.add(toSized(9));
	expect(kept.read()).toEqual({ from: 2, all: [2, 3, 4, 9].map((place) => toSized(place)) });
	kept.add(toSized(1));
	expect(listPlaces(kept)).toEqual([2, 3, 4, 9]);
	kept.addOlder(1, [toSized(1)]);
	expect(kept.read()).toEqual({ from: 2, all: [2, 3, 4, 9].map((place) => toSized(place)) });
});

test('keeps nothing after a record over the limit, and keeps later records', () => {
	const { kept } = createKept(1, 2);
	kept.add(toSized(3, 41));
	expect(kept.read()).toEqual({ from: 4, all: [] });
	kept.add(toSized(4));
	expect(kept.read()).toEqual({ from: 4, all: [toSized(4)] });
});

test('drops everything after another change of the table', () => {
	const { kept, change } = createKept(1, 2);
	change();
	expect(kept.isCurrent).toBe(false);
	expect(kept.read()).toEqual({ from: Number.POSITIVE_INFINITY, all: [] });
});
