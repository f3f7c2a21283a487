import * as v from 'valibot';
import { isBase64 } from '../ground/bytes.ts';
import { check } from '../ground/check.ts';
import { isRecord } from '../ground/json.ts';
import type { MessagePart } from '../ground/part.ts';

const marker: unique symbol = Symbol.for('runlet.parts');

/** A result that consists of parts. A tool makes it with `parts`. */
export interface Parts {
	readonly [marker]: true;
	readonly parts: readonly MessagePart[];
}

/** Parts of one result. */
const mostParts = 32;
/** Characters of all texts and data of one result. */
const mostCharacters = 4_000_000;

const optionalText = v.optional(v.string());
const about = { text: optionalText, mime: optionalText, name: optionalText };
const more = { ...about, meta: v.optional(v.record(v.string(), v.unknown())) };
const media = v.pipe(
	v.strictObject({
		...more,
		kind: v.picklist(['image', 'audio', 'file'], 'must be text, image, audio or file'),
		data: v.optional(v.pipe(v.string(), v.check(isBase64, 'must be base64'))),
		url: v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty'))),
	}),
	v.check(({ data, url }) => (data === undefined) !== (url === undefined), 'give data or url, one of them'),
);
const text = v.strictObject({ ...more, kind: v.literal('text'), text: v.string() });

const partList = v.pipe(
	v.array(
		v.lazy((part) => (isRecord(part) && part.kind === 'text' ? text : media)),
		'must be a list of parts, such as [chat.textPart(…), chat.imagePart(…)]',
	),
	v.minLength(1, 'must hold a part'),
	v.maxLength(mostParts, `at most ${mostParts} parts`),
	v.check((list) => countCharacters(list) <= mostCharacters, `at most ${mostCharacters} characters together`),
);

const result = v.object({ parts: partList });

/**
 * A tool returns this to give text, images, audio and files. The model gets them as its provider has them within a
 * tool's result, or else in the message behind it. Throws `invalid_request`, which names the part, for what is no part.
 */
export function parts(list: readonly MessagePart[]): Parts {
	return { [marker]: true, ...check(result, { parts: list }, 'parts') };
}

export function isParts(value: unknown): value is Parts {
	return isRecord(value) && marker in value && value[marker] === true;
}

function countCharacters(list: readonly MessagePart[]): number {
	return list.reduce((sum, { text = '', data = '', url = '' }) => sum + text.length + data.length + url.length, 0);
}
