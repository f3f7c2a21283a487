import * as v from 'valibot';

/** The name of a person in an owner, as a product or a key gives it. It is compared exactly as it is. */
export const userName = v.pipe(
	v.string(),
	v.regex(
		/^(?!\p{Z}|\.{1,2}$)[^\p{C}]{1,200}(?<!\p{Z})$/u,
		'expected 1 to 200 characters without control characters and no space at its ends, and neither . nor ..',
	),
);
