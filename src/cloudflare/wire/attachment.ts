import * as v from 'valibot';
import { countBase64Bytes, countBytes, isBase64 } from '../../core/ground/bytes.ts';
import { longText } from './length.ts';
import { mediaType } from './part.ts';
import { fileUrlField } from './url.ts';

/** The most attachments of one message. */
const mostAttachments = 16;

const contents = ['contentText', 'contentBase64', 'contentUrl'] as const;

/** A plain file name: no path, no line breaks, no characters that change the writing direction. */
const nameField = v.pipe(
	v.string(),
	v.nonEmpty('must not be empty'),
	v.maxLength(255, 'at most 255 characters'),
	v.regex(/^[^/\\]*$/, 'a file name, without a path'),
	v.regex(/^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/u, 'must not hold control characters'),
	v.check((name) => !/^\.{1,2}$/.test(name), 'a file name, without a path'),
);

/** A file of a message. It has exactly one of the three contents. */
export const attachment = v.pipe(
	v.strictObject({
		name: nameField,
		type: mediaType,
		size: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.description('Bytes.')),
		contentText: v.optional(longText),
		contentBase64: v.optional(v.pipe(longText, v.check(isBase64, 'Expected base64'))),
		contentUrl: v.optional(fileUrlField),
	}),
	v.forward(
		v.check(
			(given) => contents.filter((field) => given[field] !== undefined).length === 1,
			`give one of ${contents.join(', ')}`,
		),
		['contentText'],
	),
	v.forward(
		v.check(
			(given) => (measureAttachment(given) ?? given.size) === given.size,
			({ input }) => `the content has ${measureAttachment(input)} bytes`,
		),
		['size'],
	),
);

export type Attachment = Readonly<v.InferOutput<typeof attachment>>;

/** An attachment in the history. Its content is in the message's parts. */
export const shownAttachment = v.object({ name: v.string(), type: v.string(), size: v.number() });

/** The files of a message. The size is checked against the content. */
export const attachmentsField = v.optional(
	v.pipe(v.array(v.unknown()), v.maxLength(mostAttachments, `at most ${mostAttachments}`), v.array(attachment)),
);

/** Returns the number of bytes of the content in the request. */
function measureAttachment({
	contentText,
	contentBase64,
}: {
	contentText?: string;
	contentBase64?: string;
}): number | undefined {
	if (contentText !== undefined) return countBytes(contentText);
	return contentBase64 === undefined ? undefined : countBase64Bytes(contentBase64);
}
