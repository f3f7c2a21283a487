import * as v from 'valibot';
import { described } from '../../field.ts';

/** The most bytes of an uploaded file. */
export const maxUpload = 4_194_304;
/** The most bytes of the form with a file. */
export const maxForm = maxUpload + 65_536;

const purpose = v.picklist(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals']);

const seconds = v.pipe(
	v.string(),
	v.regex(/^\d{1,7}$/, 'Expected a number of seconds'),
	v.transform(Number),
	v.minValue(3_600, 'at least 3600 (an hour)'),
	v.maxValue(2_592_000, 'at most 2592000 (30 days)'),
);

/** The fields of the form of `POST /v1/files`. Unknown fields are ignored. */
export const uploadForm = v.object({
	file: v.custom<File>((value) => value instanceof File, 'Expected a file'),
	purpose: v.optional(purpose, 'user_data'),
	'expires_after[anchor]': v.optional(v.literal('created_at', 'Expected created_at')),
	'expires_after[seconds]': v.optional(seconds),
});

const id = v.optional(v.pipe(v.string(), v.maxLength(100)));

export const uploadQuery = v.object({
	purpose: v.optional(purpose),
	order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
	limit: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^\d{1,5}$/, 'Expected a number'),
			v.transform(Number),
			v.minValue(1),
			v.maxValue(10_000),
		),
		'1000',
	),
	after: described(id, 'The last id of the page before.'),
	after_id: described(id, 'The same, as Anthropic’s clients name it.'),
	page: described(id, 'The `next_page` of the page before.'),
});

const time = described(
	v.union([v.number(), v.string()]),
	'Seconds since 1970. With the header `anthropic-version` a text such as `2026-07-30T10:00:00.000Z`.',
);

export const uploadSchema = v.object({
	id: v.string(),
	object: v.literal('file'),
	type: v.literal('file'),
	filename: v.string(),
	purpose: v.string(),
	bytes: v.number(),
	size_bytes: v.number(),
	mime_type: described(v.string(), 'The media type by the name and the bytes.'),
	created_at: time,
	expires_at: v.optional(described(time, 'Missing if it does not expire.')),
	status: v.literal('processed'),
	downloadable: v.literal(true),
});

export const uploadListSchema = v.object({
	object: v.literal('list'),
	data: v.array(uploadSchema),
	first_id: v.nullable(v.string()),
	last_id: v.nullable(v.string()),
	has_more: v.boolean(),
	next_page: v.nullable(v.string()),
});

export const deletedUploadSchema = v.object({
	id: v.string(),
	object: v.literal('file'),
	type: v.literal('file_deleted'),
	deleted: v.literal(true),
});
