import * as v from 'valibot';
import { isBase64 } from '../../core/ground/bytes.ts';
import { longText, maxName, shortText } from './length.ts';
import { fileUrlField } from './url.ts';

/** The most characters of a message's text. */
const maxText = 1_000_000;

export const mediaType = v.pipe(
	shortText(maxName),
	v.regex(/^[\w.+-]+\/[\w.+-]+$/, 'Expected a media type such as image/png'),
);

/** A message's text. */
export const textField = v.pipe(
	v.string(),
	v.maxLength(maxText, ({ received }) => `at most ${maxText} characters, got ${received}`),
	v.check((text) => text.trim() !== '', 'must not be empty'),
);

/** A part of a message: text, an image, audio or a file. */
export const part = v.pipe(
	v.strictObject({
		kind: v.picklist(['text', 'image', 'audio', 'file']),
		text: v.optional(v.pipe(v.string(), v.maxLength(maxText))),
		mime: v.optional(mediaType),
		data: v.optional(v.pipe(longText, v.check(isBase64, 'Expected base64'), v.description('The bytes, in base64.'))),
		url: v.optional(fileUrlField),
		name: v.optional(v.pipe(v.string(), v.maxLength(255))),
	}),
	v.forward(
		v.check(({ kind, text }) => kind !== 'text' || text !== undefined, 'missing'),
		['text'],
	),
	v.forward(
		v.check(({ kind, data, url }) => kind === 'text' || data !== undefined || url !== undefined, 'give data or url'),
		['data'],
	),
);

/** The content of a message: text or parts. The schemas that use it say which is required. */
export const content = {
	text: v.optional(textField),
	parts: v.optional(v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(32), v.array(part))),
};

/** A part in the history. Tools and other sources add more kinds. */
export const shownPart = v.object({
	kind: v.picklist(['text', 'image', 'audio', 'file', 'tool-result']),
	text: v.optional(v.string()),
	mime: v.optional(v.string()),
	data: v.optional(v.string()),
	url: v.optional(v.string()),
	name: v.optional(v.string()),
	meta: v.optional(v.record(v.string(), v.unknown())),
});
