import * as v from 'valibot';
import { userName } from '../../../auth/rights.ts';
import { longText } from '../../limits.ts';
import { createList } from '../fields.ts';

const text = v.pipe(
	v.string('Expected a text. Tokens are not possible here, because models split texts in other ways'),
	longText,
	v.nonEmpty('must not be empty'),
);

export const embeddingRequest = v.object({
	model: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(200)),
	input: v.union([text, createList(text, 2_048, 1)]),
	encoding_format: v.nullish(v.picklist(['float', 'base64']), 'float'),
	dimensions: v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(100_000))),
	user: v.nullish(userName),
});

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const embeddingListSchema = v.object({
	object: v.literal('list'),
	data: v.array(
		v.object({
			object: v.literal('embedding'),
			index: count,
			/** Base64 of little-endian floats of 32 bits, if `encoding_format` is `base64`. */
			embedding: v.union([v.array(v.number()), v.string()]),
		}),
	),
	model: v.string(),
	/** Estimated if the provider does not report it. */
	usage: v.object({ prompt_tokens: count, total_tokens: count }),
});
