import * as v from 'valibot';

/**
 * Checks a value by the one schema that `choose` returns, so that an error message is about the schema that was meant.
 * `options` lists all schemas for the OpenAPI document.
 */
export function pickSchema<const O extends readonly v.GenericSchema[]>(
	options: O,
	choose: (value: unknown) => O[number],
): v.LazySchema<O[number]> & { readonly options: O } {
	return Object.assign(v.lazy(choose), { options });
}
