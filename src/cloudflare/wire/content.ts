import * as v from 'valibot';
import { countBase64Bytes, countBytes, isBase64 } from '../../core/base/bytes.ts';
import { isPublicUrl } from '../../core/base/public-fetch.ts';
import { longText, maxName, shortText } from './limits.ts';

/** A public URL: a tool or a model's server may fetch it from a network that the client cannot reach. */
const fileUrlField = v.pipe(
	v.string(),
	v.maxLength(2_048, 'at most 2048 characters'),
	v.check(isPublicUrl, 'Expected an https URL at a public name, without a user, a password or a port'),
);

const maxText = 1_000_000;

const mediaType = v.pipe(
	shortText(maxName),
	v.regex(/^[\w.+-]+\/[\w.+-]+$/, 'Expected a media type such as image/png'),
);

export const textField = v.pipe(
	v.string(),
	v.maxLength(maxText, ({ received }) => `at most ${maxText} characters, got ${received}`),
	v.check((text) => text.trim() !== '', 'must not be empty'),
);

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

/** The schemas that use it say which of the two is required. */
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
			(attachment) => contents.filter((field) => attachment[field] !== undefined).length === 1,
			`give one of ${contents.join(', ')}`,
		),
		['contentText'],
	),
	v.forward(
		v.check(
			(attachment) => (measureAttachment(attachment) ?? attachment.size) === attachment.size,
			({ input }) => `the content has ${measureAttachment(input)} bytes`,
		),
		['size'],
	),
);

export type Attachment = Readonly<v.InferOutput<typeof attachment>>;

/** Its content is in the message's parts. */
export const shownAttachment = v.object({ name: v.string(), type: v.string(), size: v.number() });

export const attachmentsField = v.optional(
	v.pipe(v.array(v.unknown()), v.maxLength(mostAttachments, `at most ${mostAttachments}`), v.array(attachment)),
);

function measureAttachment(attachment: { contentText?: string; contentBase64?: string }): number | undefined {
	const { contentText, contentBase64 } = attachment;
	if (contentText !== undefined) return countBytes(contentText);
	return contentBase64 === undefined ? undefined : countBase64Bytes(contentBase64);
}
