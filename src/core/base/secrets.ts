import { joinBytes, toBase64, toHex } from './bytes.ts';

/** A secret: its value, and the name under which people know it. */
export interface NamedSecret {
	readonly name: string;
	readonly value: string;
}

/** The ways in which secrets are written, prepared for `findSecret`. */
export interface Needles {
	/** The longest first. */
	readonly all: readonly Needle[];
	/** The needles by their first character, the longest first. */
	readonly starts: ReadonlyMap<number, readonly Needle[]>;
}

interface Needle {
	readonly text: string;
	readonly name: string;
	/** Whether the text is the mark that replaces a secret. */
	readonly isMark: boolean;
}

/** A shorter value also occurs by chance, so it is ignored. */
const shortest = 12;

/**
 * Prepares secrets to be found: as they are, percent-encoded, escaped as in JSON, as hexadecimal digits, and within
 * base64 and base64url. Also finds the marks of `maskSecrets`, so that a masked text counts like the secret.
 */
export function prepareSecrets(secrets: readonly NamedSecret[]): Needles {
	const texts = new Map<string, Needle>();
	for (const { name, value } of secrets.filter((secret) => secret.value.length >= shortest)) {
		const needles = [{ name, text: toMark(name), isMark: true }];
		for (const text of listForms(value)) needles.push({ name, text, isMark: false });
		for (const needle of needles)
			if (needle.text.length >= shortest && !texts.has(needle.text)) texts.set(needle.text, needle);
	}
	const all = [...texts.values()].sort((one, other) => other.text.length - one.text.length);
	const starts = new Map<number, readonly Needle[]>();
	for (const needle of all) {
		const first = needle.text.charCodeAt(0);
		starts.set(first, [...(starts.get(first) ?? []), needle]);
	}
	return { all, starts };
}

/** Returns the name of a secret that stands in the strings or property names of a JSON value. */
export function findSecret(json: unknown, needles: Needles): string | undefined {
	if (needles.all.length === 0) return undefined;
	const text = typeof json === 'string' ? json : (JSON.stringify(json) ?? '');
	return findInText(text, needles)?.name;
}

/** Replaces secrets in the strings and property names of a JSON value by a mark with the name. */
export function maskSecrets(json: unknown, needles: Needles): unknown {
	const found = findSecret(json, needles);
	if (found === undefined) return json;
	const masked = maskParts(json, needles);
	// A secret that is JSON can stand in the arguments as values.
	return isClean(JSON.stringify(masked), needles) ? masked : { [toMark(found)]: true };
}

function maskParts(json: unknown, needles: Needles): unknown {
	if (Array.isArray(json)) return json.map((item) => maskParts(item, needles));
	if (typeof json === 'object' && json !== null)
		return Object.fromEntries(
			Object.entries(json).map(([name, item]) => [maskText(name, needles), maskParts(item, needles)]),
		);
	const text = String(json);
	const masked = maskText(text, needles);
	return masked === text ? json : masked;
}

/** Replaces what can be found. If something is left, a mark replaces the whole text. */
function maskText(text: string, needles: Needles): string {
	const found = findInText(text, needles, { withMarks: false });
	if (found === undefined) return text;
	const mask = new SecretMask(needles);
	const masked = mask.push(text) + mask.end();
	return isClean(masked, needles) ? masked : toMark(found.name);
}

function isClean(text: string, needles: Needles): boolean {
	return findInText(text, needles, { withMarks: false }) === undefined;
}

/** Replaces secrets in a text that arrives in pieces. Holds back an end that may become a secret. */
export class SecretMask {
	readonly #needles: Needles;
	#held = '';

	constructor(needles: Needles) {
		this.#needles = needles;
	}

	/** Returns the text that can be shown now. */
	push(piece: string): string {
		if (this.#needles.starts.size === 0) return piece;
		return this.#take(this.#held + piece, false);
	}

	/** Returns the rest. */
	end(): string {
		return this.#take(this.#held, true);
	}

	#take(text: string, isWhole: boolean): string {
		let [shown, from, at] = ['', 0, 0];
		while (at < text.length) {
			const found = this.#findAt(text, at, isWhole);
			if (found === 'maybe') break;
			if (found !== undefined) {
				shown += text.slice(from, at) + toMark(found.name);
				from = at + found.text.length;
			}
			at += found?.text.length ?? 1;
		}
		this.#held = text.slice(at);
		return shown + text.slice(from, at);
	}

	/** Finds the longest needle at a place. `maybe`: more text decides it. */
	#findAt(text: string, at: number, isWhole: boolean): Needle | 'maybe' | undefined {
		const left = text.length - at;
		for (const needle of this.#needles.starts.get(text.charCodeAt(at)) ?? []) {
			if (needle.text.length <= left) {
				if (text.startsWith(needle.text, at)) return needle;
			} else if (!isWhole && needle.text.startsWith(text.slice(at))) return 'maybe';
		}
		return undefined;
	}
}

function toMark(name: string): string {
	return `[secret ${name}]`;
}

const utf8 = new TextDecoder();

/** Lists the encodings of a value. */
function listForms(value: string): ReadonlySet<string> {
	const bytes = joinBytes(value);
	const percent = encodeURIComponent(utf8.decode(bytes));
	const inner = [0, 1, 2].map((offset) => toInnerBase64(bytes, offset));
	const plain = [value, percent, percent.replaceAll('%20', '+'), JSON.stringify(value).slice(1, -1)];
	const forms = [
		...plain,
		// A search decodes its text, so it also needs the decoded forms.
		...plain.map(decode),
		percent.replaceAll(/%../g, (code) => code.toLowerCase()),
		...inner,
		...inner.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
		toHex(bytes),
		toHex(bytes).toUpperCase(),
	];
	// A neighbour, such as `%4`, takes up to two characters of a form when the text is decoded.
	const ends = [/^[\da-f]/i, /^[\da-f]{2}/i, /%[\da-f]?$/i];
	return new Set([...forms, ...forms.flatMap((form) => ends.map((end) => form.replace(end, '')))]);
}

/** The base64 of bytes that follow `offset` other bytes, without the characters that also encode bytes around them. */
function toInnerBase64(bytes: Uint8Array<ArrayBuffer>, offset: number): string {
	const whole = toBase64(joinBytes(new Uint8Array(offset), bytes));
	return whole.slice(Math.ceil((8 * offset) / 6), Math.floor((8 * (offset + bytes.length)) / 6));
}

const escaped = /%[\da-f]{2}|\\u00|\\\\|\\\//i;
/** How often a text is decoded at most. */
const mostLayers = 3;

/** Decodes percent-encoding and escapes, and leaves out backslashes, so that texts within texts become alike. */
function decode(text: string): string {
	return text.replace(/%([\da-f]{2})|\\+(?:u00([\da-f]{2}))?/gi, (_, percent?: string, escaped = percent) =>
		escaped === undefined ? '' : String.fromCharCode(Number.parseInt(escaped, 16)),
	);
}

function findInText(text: string, needles: Needles, { withMarks = true } = {}): Needle | undefined {
	let found = search(text, needles, withMarks);
	let decoded = text;
	for (let layer = 0; found === undefined && layer < mostLayers && escaped.test(decoded); layer++) {
		decoded = decode(decoded);
		found = search(decoded, needles, withMarks);
	}
	return found;
}

function search(text: string, { all }: Needles, withMarks: boolean): Needle | undefined {
	return all.find((one) => (withMarks || !one.isMark) && text.includes(one.text));
}
