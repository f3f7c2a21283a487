import * as v from 'valibot';

/** A call of a tool that the provider of the model ran itself. */
export const providerCall = v.object({
	id: v.string(),
	name: v.string(),
	input: v.optional(v.unknown()),
	output: v.optional(v.pipe(v.unknown(), v.description('What came of it. It is missing while the call runs.'))),
	isError: v.optional(v.boolean()),
});

/** A source that a text rests on. */
export const source = v.object({
	id: v.string(),
	url: v.optional(v.string()),
	title: v.optional(v.string()),
	quote: v.optional(v.pipe(v.string(), v.description('The cited words of the source.'))),
});
