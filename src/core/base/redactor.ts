import { joinBytes, toBase64, toHex } from './bytes.ts';
import { findPlaces, toCharacters } from './find.ts';
import { doNow, uncounted } from './work.ts';

const mark = '[secret]';

/**
 * Makes a function that removes these secrets from a text: plain, percent-encoded, escaped as in JSON or HTML, as
 * hexadecimal digits, or within base64. It also removes the decoded form of a base64 secret, such as the password of
 * `user:password`. The time is linear in the text.
 *
 * @param secrets texts of visible ASCII, with 4 characters or more
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
	if (secrets.length === 0) return (text) => text;
	const plain = secrets.flatMap(listMeanings);
	const searches: readonly Search[] = [
		...[readPlain, readPercent, readBackslash, readEntity, readEscaped].map((read) => ({ read, patterns: plain })),
		{ read: readHex, patterns: plain.map((text) => toHex(joinBytes(text))) },
		{ read: readBase64, patterns: plain.flatMap((text) => [0, 1, 2].map((offset) => toInnerBase64(text, offset))) },
	];
	return (text) => {
		const ranges = searches.flatMap((search) => findRanges(text, search));
		return replaceRanges(
			text,
			ranges.sort(([one], [other]) => one - other),
		);
	};
}

/** Removes secrets from every text and every name of a JSON value. */
export function redactJson(value: unknown, redact: (text: string) => string): unknown {
	if (typeof value === 'string') return redact(value);
	if (Array.isArray(value)) return value.map((item) => redactJson(item, redact));
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactJson(item, redact)]));
}

/** Lists the secret and, if the secret is base64 of a readable text, also this text. */
function listMeanings(secret: string): readonly string[] {
	if (!/^[\w+/-]{6,}={0,2}$/.test(secret)) return [secret];
	try {
		const inner = atob(secret.replaceAll('-', '+').replaceAll('_', '/'));
		const password = inner.slice(inner.indexOf(':') + 1);
		return /^[\x21-\x7e]{4,}$/.test(inner) ? [secret, inner, ...(password.length < 4 ? [] : [password])] : [secret];
	} catch {
		return [secret];
	}
}

/** Reads the character at a place: its code and its length in the text. A character with a negative code is skipped. */
type ReadSign = (text: string, at: number) => readonly [code: number, length: number];

interface Search {
	readonly read: ReadSign;
	readonly patterns: readonly string[];
}

/** The base64 of a text that follows `offset` bytes, without the characters that also encode bytes around it. */
function toInnerBase64(text: string, offset: number): string {
	const whole = toBase64(joinBytes(new Uint8Array(offset), text));
	return whole.slice(Math.ceil((8 * offset) / 6), Math.floor((8 * (offset + text.length)) / 6));
}

const readPlain: ReadSign = (text, at) => [text.charCodeAt(at), 1];

const entities: ReadonlyMap<string, string> = new Map([
	['amp', '&'],
	['lt', '<'],
	['gt', '>'],
	['quot', '"'],
	['apos', "'"],
]);

/** The escaped forms of one character, as sticky patterns of bounded length. */
const percent = /%([\da-f]{2})/iy;
const backslash = /\\(?:u([\da-f]{4})|x([\da-f]{2})|([^\sux]))/iy;
const entity = /&(?:#x0{0,6}([\da-f]{1,4})|#0{0,6}(\d{1,5})|(amp|lt|gt|quot|apos));/iy;

const readPercent: ReadSign = (text, at) => {
	const [all, digits = ''] = text[at] === '%' ? matchAt(percent, text, at) : [];
	return all === undefined ? readPlain(text, at) : [Number.parseInt(digits, 16), all.length];
};

const readBackslash: ReadSign = (text, at) => {
	const [all, four, two, sign = ''] = text[at] === '\\' ? matchAt(backslash, text, at) : [];
	if (all === undefined) return readPlain(text, at);
	// These escapes stand for control characters, and no secret has a control character.
	if (/[bfnrt]/.test(sign)) return [10, all.length];
	return [sign === '' ? Number.parseInt(four ?? two ?? '', 16) : sign.charCodeAt(0), all.length];
};

const readEntity: ReadSign = (text, at) => {
	const [all, hex, decimal, name = ''] = text[at] === '&' ? matchAt(entity, text, at) : [];
	if (all === undefined) return readPlain(text, at);
	const named = entities.get(name.toLowerCase());
	if (named !== undefined) return [named.charCodeAt(0), all.length];
	return [hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), all.length];
};

/** Reads a text with mixed escapes. */
const readEscaped: ReadSign = (text, at) => {
	const first = text[at];
	if (first === '%') return readPercent(text, at);
	if (first === '\\') return readBackslash(text, at);
	return first === '&' ? readEntity(text, at) : readPlain(text, at);
};

const readHex: ReadSign = (text, at) => {
	const code = text.charCodeAt(at);
	return [code >= 65 && code <= 70 ? code + 32 : code, 1];
};

/** Reads base64 and base64url, across line breaks and escapes. */
const readBase64: ReadSign = (text, at) => {
	const [code, length] = readEscaped(text, at);
	if (code === 45) return [43, length];
	if (code === 95) return [47, length];
	return [code <= 32 ? -1 : code, length];
};

function matchAt(expression: RegExp, text: string, at: number): readonly (string | undefined)[] {
	expression.lastIndex = at;
	return expression.exec(text) ?? [];
}

type Range = readonly [from: number, to: number];

function findRanges(text: string, { read, patterns }: Search): readonly Range[] {
	const codes = new Uint16Array(text.length);
	const [starts, ends] = [new Uint32Array(text.length), new Uint32Array(text.length)];
	let count = 0;
	for (let from = 0, to = 0; from < text.length; from = to) {
		const [code, length] = read(text, from);
		to = from + length;
		if (code < 0) continue;
		codes[count] = code;
		starts[count] = from;
		ends[count++] = to;
	}
	const decoded = { length: count, at: (index: number) => codes[index], steps: 1 };
	return patterns.flatMap((pattern) => {
		const { first } = doNow(findPlaces(decoded, toCharacters(pattern), { overlapping: true }, uncounted));
		return first.map((at): Range => [starts[at] ?? 0, ends[at + pattern.length - 1] ?? 0]);
	});
}

function replaceRanges(text: string, ranges: readonly Range[]): string {
	const pieces: string[] = [];
	let done = 0;
	for (const [from, to] of ranges) {
		if (from >= done) pieces.push(text.slice(done, from), mark);
		done = Math.max(done, to);
	}
	return pieces.length === 0 ? text : `${pieces.join('')}${text.slice(done)}`;
}
