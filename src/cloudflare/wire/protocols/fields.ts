import * as v from 'valibot';

/** Makes a list that checks its length before its entries. */
export function createList<const S extends v.GenericSchema>(entry: S, most: number, least = 0) {
	return v.pipe(
		v.array(v.unknown()),
		v.minLength(least, 'must not be empty'),
		v.maxLength(most, ({ received }) => `at most ${most} entries, got ${received}`),
		v.array(entry),
	);
}

/** A field that is refused because it would change the answer. An empty value is accepted. */
export function omit(remedy: string) {
	return v.optional(
		v.pipe(
			v.unknown(),
			v.check((value) => isNothing(value), `not possible here. ${remedy}`),
			v.description(`Not possible here. ${remedy}.`),
		),
	);
}

function isNothing(value: unknown): boolean {
	if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
	return value === undefined || value === null || value === '';
}
