import * as v from 'valibot';
import { isBase64 } from '../base/bytes.ts';
import { check } from '../base/check.ts';
import { isRecord } from '../base/json.ts';
import type { MessagePart } from '../base/part.ts';

const control: unique symbol = Symbol.for('runlet.control');

/** A question to the person. A tool makes it with `askUser`. */
export interface AskUser {
	readonly [control]: 'ask_user';
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
	/** The data that the tool gets back together with the answer. The person never sees it. */
	readonly resume?: unknown;
}

/** The end of a run. A tool makes it with `halt`. */
export interface Halt {
	readonly [control]: 'halt';
	readonly reason: string;
	readonly result: unknown;
}

/**
 * A tool returns this to ask the person. The run stops as `awaiting_user` with the question. The answer becomes
 * the result of this call, or is passed to the tool's `onAnswer`.
 *
 * @param options any data for the program that shows the question, such as the choices to offer
 * @param resume JSON that the tool's `onAnswer` gets with the answer. It is stored, but readers do not get it.
 */
export function askUser(question: string, options?: Readonly<Record<string, unknown>>, resume?: unknown): AskUser {
	return {
		[control]: 'ask_user',
		question,
		...(options !== undefined && { options }),
		...(resume !== undefined && { resume }),
	};
}

/**
 * A tool returns this to stop the run. The run ends as `halted` with `haltedReason: reason`. The history keeps `result`
 * as the result of this call.
 */
export function halt(reason: string, result?: unknown): Halt {
	return { [control]: 'halt', reason, result: result ?? null };
}

export function isAskUser(value: unknown): value is AskUser {
	return isRecord(value) && control in value && value[control] === 'ask_user';
}

export function isHalt(value: unknown): value is Halt {
	return isRecord(value) && control in value && value[control] === 'halt';
}

const marker: unique symbol = Symbol.for('runlet.parts');

/** A result that consists of parts. A tool makes it with `parts`. */
export interface Parts {
	readonly [marker]: true;
	readonly parts: readonly MessagePart[];
}

/** The maximum number of parts of one result. */
const mostParts = 32;
/** The maximum number of characters in the texts and data of one result. */
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
 * A tool returns this to give text, images, audio and files. The model gets the parts within the tool's result if its
 * provider allows this, else in the next message. Throws `invalid_request` with the name of an invalid part.
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
