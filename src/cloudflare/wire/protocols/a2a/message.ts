import * as v from 'valibot';
import { described } from '../../field.ts';
import { longText, shortText } from '../../limits.ts';

/** The longest id of a message, a task or a context, in characters. */
const maxId = 200;
const mostParts = 1_000;

/** Clients send a missing text as an empty text, too (ProtoJSON). */
export const optionalId = v.nullish(shortText(maxId));

export const metadata = v.nullish(v.pipe(v.record(shortText(255), v.unknown()), v.maxEntries(100)));

const kinds = ['text', 'raw', 'url', 'data'] as const;

/** A part of a message or an artifact. It has exactly one of `text`, `raw`, `url` and `data`. */
const part = v.pipe(
	v.object({
		text: v.optional(longText),
		raw: v.optional(described(longText, 'The bytes of a file in base64.')),
		url: v.optional(shortText(2_048)),
		data: v.optional(described(v.unknown(), 'Any JSON.')),
		filename: v.nullish(shortText(255)),
		mediaType: v.nullish(shortText(255)),
		metadata,
	}),
	v.check((given) => kinds.filter((kind) => given[kind] !== undefined).length === 1, 'has one of text, raw, url, data'),
);

export type Part = v.InferOutput<typeof part>;

/** The parts of a message or an artifact. */
export const parts = v.pipe(v.array(part), v.minLength(1, 'must hold a part'), v.maxLength(mostParts));

/** A message of A2A. */
export const message = v.object({
	messageId: v.pipe(shortText(maxId), v.nonEmpty('must not be empty')),
	contextId: optionalId,
	taskId: optionalId,
	role: v.picklist(['ROLE_USER', 'ROLE_AGENT']),
	parts,
	metadata,
	extensions: v.nullish(v.pipe(v.array(shortText(2_048)), v.maxLength(100))),
	referenceTaskIds: v.nullish(v.pipe(v.array(shortText(maxId)), v.maxLength(100))),
});

export type Message = v.InferOutput<typeof message>;
