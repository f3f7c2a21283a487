import * as v from 'valibot';

/**
 * One of several schemas, chosen by the value, so that a mistake is told in the words of the one that was meant. The
 * `options` are for whoever describes it.
 */
export function pickSchema<const O extends readonly v.GenericSchema[]>(
	options: O,
	choose: (value: unknown) => O[number],
): v.LazySchema<O[number]> & { readonly options: O } {
	return Object.assign(v.lazy(choose), { options });
}
