import * as v from 'valibot';

/** Adds a text to a schema, for the API's document. */
export function described<const S extends v.GenericSchema>(schema: S, text: string) {
	return v.pipe(schema, v.description(text));
}

/** A time in ISO 8601. */
export const time = v.pipe(v.string(), v.isoTimestamp());
