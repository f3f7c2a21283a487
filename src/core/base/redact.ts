import { joinBytes, toBase64, toHex } from './bytes.ts';

/** The most characters of a text that are searched. The rest is cut off. */
const longest = 20_000;

/**
 * The forms of secrets by their issuer. Each is a fixed beginning and one run of a character class in which that
 * beginning cannot occur, so a text is searched in linear time.
 */
const shapes: readonly RegExp[] = [
	// GitHub: https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
	/(?<![A-Za-z0-9])(?:gh[a-z]_\w{16,}|github_pat_\w{16,})/g,
	// A JWT (RFC 7519, 3): a header and a payload, which are JSON objects as base64url, and mostly a signature.
	/(?<![\w-])eyJ[\w-]{6,}\.[\w-]{2,}(?:\.[\w-]*){0,3}/g,
	// Runlet's own keys and tokens, and secrets of webhooks.
	/(?<![A-Za-z0-9])(?:rls?_[a-z0-9]{8,}_[\w-]{16,}|whsec_[\w+/=-]{16,})/g,
	// Anthropic, OpenAI and others; Stripe; xAI; Groq; Google; Slack.
	/(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|xai-\w{16,}|gsk_\w{16,}|AIza[\w-]{30,}|xox[a-z]-[\w-]{10,})/g,
];

/** The id of an AWS key: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html */
const awsId = /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g;
const awsNames = /aws_?secret|secret_?access_?key|aws_?session_?token/i;
/**
 * The secret of an AWS key has no special form: any 40 characters of base64 may be one. A session's token is longer.
 */
const awsSecret = /(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{100,}={0,2})(?![A-Za-z0-9+/=])/g;

/**
 * Replaces everything that looks like a secret by `[key]`: keys of GitHub, AWS, model providers and Runlet, and JWTs.
 * For error messages, which may quote any text. Returns at most the first 20,000 characters.
 */
export function redactSecrets(text: string): string {
	let out = text.length > longest ? `${text.slice(0, longest)}…` : text;
	const hasAws = out.search(awsId) >= 0 || awsNames.test(out);
	for (const shape of shapes) out = out.replace(shape, '[key]');
	return hasAws ? out.replace(awsId, '[key]').replace(awsSecret, '[key]') : out;
}

/** The replacement for a secret. */
const mark = '[secret]';

/**
 * Makes a function that removes these secrets from a text: plain, percent-encoded, escaped as in JSON or HTML, as
 * hexadecimal digits, or within base64. It also removes the decoded form of a base64 secret, such as the password of
 * `user:password`. The time is linear in the text.
 *
 * @param secrets texts of visible ASCII, with 4 characters or more
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
	const searches = secrets.flatMap(listMeanings).flatMap(toSearches);
	if (searches.length === 0) return (text) => text;
	return (text) => replaceRanges(text, findRanges(text, searches));
}

/** Removes secrets from every text and every name of a JSON value. */
export function redactJson(value: unknown, redact: (text: string) => string): unknown {
	if (typeof value === 'string') return redact(value);
	if (Array.isArray(value)) return value.map((item) => redactJson(item, redact));
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactJson(item, redact)]));
}

/** The secret, and what it encodes if it is base64 of a readable text. */
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

/** Reads the character at a place: its code and its length in the text. A negative code is skipped. */
type ReadSign = (text: string, at: number) => readonly [code: number, length: number];

interface Search {
	readonly pattern: string;
	readonly read: ReadSign;
}

function toSearches(secret: string): readonly Search[] {
	const bytes = joinBytes(secret);
	return [
		...[readPlain, readPercent, readBackslash, readEntity, readEscaped].map((read) => ({ pattern: secret, read })),
		{ pattern: toHex(bytes), read: readHex },
		...[0, 1, 2].map((offset) => ({ pattern: toInnerBase64(bytes, offset), read: readBase64 })),
	];
}

/** The base64 of bytes after `offset` other bytes, without the characters that depend on the neighbours. */
function toInnerBase64(bytes: Uint8Array, offset: number): string {
	const whole = toBase64(joinBytes(new Uint8Array(offset), bytes));
	return whole.slice(Math.ceil((8 * offset) / 6), Math.floor((8 * (offset + bytes.length)) / 6));
}

const readPlain: ReadSign = (text, at) => [text.charCodeAt(at), 1];

const entities: ReadonlyMap<string, string> = new Map([
	['amp', '&'],
	['lt', '<'],
	['gt', '>'],
	['quot', '"'],
	['apos', "'"],
]);

/** The escaped forms of one character, each sticky and bounded in length. */
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
	// No secret has a control character.
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

/** Finds all patterns (Knuth, Morris and Pratt). Patterns with the same reader share one pass over the text. */
function findRanges(text: string, searches: readonly Search[]): readonly Range[] {
	const ranges: Range[] = [];
	for (const [read, patterns] of groupByReading(searches)) {
		const states = patterns.map((pattern) => ({ pattern, back: toBackSteps(pattern), matched: 0 }));
		const longest = Math.max(...patterns.map((pattern) => pattern.length));
		/** The places of the last characters. */
		const starts = new Uint32Array(longest);
		let count = 0;
		for (let at = 0; at < text.length; ) {
			const [code, length] = read(text, at);
			const end = at + length;
			if (code >= 0) {
				starts[count++ % longest] = at;
				for (const state of states) {
					const { pattern, back } = state;
					while (state.matched > 0 && pattern.charCodeAt(state.matched) !== code)
						state.matched = back[state.matched - 1] ?? 0;
					if (pattern.charCodeAt(state.matched) === code) state.matched++;
					if (state.matched < pattern.length) continue;
					ranges.push([starts[(count - pattern.length) % longest] ?? at, end]);
					state.matched = back[state.matched - 1] ?? 0;
				}
			}
			at = end;
		}
	}
	return ranges.sort(([one], [other]) => one - other);
}

function groupByReading(searches: readonly Search[]): ReadonlyMap<ReadSign, readonly string[]> {
	const groups = new Map<ReadSign, string[]>();
	for (const { read, pattern } of searches) groups.set(read, [...(groups.get(read) ?? []), pattern]);
	return groups;
}

/**
 * The failure function: for each prefix of a pattern, the length of its longest proper prefix that is also a suffix.
 */
function toBackSteps(pattern: string): readonly number[] {
	const steps = [0];
	for (let at = 1, length = 0; at < pattern.length; at++) {
		while (length > 0 && pattern[at] !== pattern[length]) length = steps[length - 1] ?? 0;
		if (pattern[at] === pattern[length]) length++;
		steps.push(length);
	}
	return steps;
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
