/** Returns the beginning of a text: at most `length` UTF-16 code units, and never half of a surrogate pair. */
export function truncateText(text: string, length: number): string {
	if (text.length <= length) return text;
	const end = Math.max(0, length);
	return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end);
}

/** Returns the part of a text around a place: at most `length` code units, with `…` where it is cut. */
export function cutAround(text: string, place: number, length: number): string {
	if (text.length <= length) return text;
	const wanted = Math.max(0, Math.min(place - Math.floor(length / 2), text.length - length));
	const from = isHighSurrogate(text.charCodeAt(wanted - 1)) ? wanted - 1 : wanted;
	const shown = truncateText(text.slice(from), length);
	return `${from > 0 ? '…' : ''}${shown}${from + shown.length < text.length ? '…' : ''}`;
}

/** Splits a text into pieces of at most `length` code units (2 or more). No piece ends within a surrogate pair. */
export function splitText(text: string, length: number): string[] {
	const pieces: string[] = [];
	for (let at = 0; at < text.length; ) {
		const piece = truncateText(text.slice(at, at + length + 1), length);
		pieces.push(piece);
		at += piece.length;
	}
	return pieces;
}

/** Shows the exact text: writes codes for invisible characters, and for characters that change the direction. */
export function showSigns(text: string): string {
	const hidden = /[^\P{C}\n\t]|[\p{DI}\p{Zl}\p{Zp}]/gu;
	return text.replace(hidden, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** Replaces control characters, except tabs and line breaks, by U+FFFD. */
export function replaceControls(text: string): string {
	return text.replace(/[^\P{Cc}\t\n\r]/gu, '\ufffd');
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}

/**
 * Removes the ending of an English word: `testing`, `tests` and `tested` become `test`. The result is rough, so
 * use this function for the words of the searched text and for the words of the query.
 */
export function stem(word: string): string {
	if (word.length < 5) return word.length === 4 ? word.replace(/(?<=[^s])s$|e$/, '') : word;
	const bare = word
		.replace(/(?:ies|ied)$/, 'y')
		.replace(/(?<=[^s])s$/, '')
		.replace(/(?<=.{3})(?:ations?|ings?|ers?|ed|ion|ment|ly)$/, '')
		.replace(/e$/, '');
	const isDoubled = bare.at(-1) === bare.at(-2) && /[^aeiouls]$/.test(bare);
	const stemmed = isDoubled ? bare.slice(0, -1) : bare;
	return stemmed.length < 3 ? word : stemmed;
}

const currency = { style: 'currency', currency: 'USD', maximumFractionDigits: 6 } as const;

/** Formats US dollars: `$2`, `$2.50`, `$0.00042`. Rounds to a millionth. */
export function formatDollars(usd: number): string {
	return usd.toLocaleString('en-US', { ...currency, minimumFractionDigits: Number.isInteger(usd) ? 0 : 2 });
}

/** Words with more characters are not compared, because no name is longer. */
const longest = 64;

/** Finds the name that is most similar to a mistyped word. Returns `undefined` if no name is similar enough. */
export function findNearest(word: string, names: readonly string[]): string | undefined {
	if (word.length > longest) return undefined;
	const wanted = word.toLowerCase();
	let best: { readonly name: string; readonly distance: number } | undefined;
	for (const name of names) {
		const distance = isAffix(wanted, name.toLowerCase()) ? 1 : countEdits(wanted, name.toLowerCase());
		const allowed = Math.max(1, Math.floor(Math.max(wanted.length, name.length) / 3));
		if (distance <= allowed && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance };
	}
	return best?.name;
}

/** Whether a word is the beginning or the end of a name: `q` of `query`, `ids` of `sessionIds`. */
function isAffix(word: string, name: string): boolean {
	return word !== '' && (name.startsWith(word) || (word.length > 2 && name.endsWith(word)));
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
export function countEdits(a: string, b: string): number {
	let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)];
	for (let row = 1; row <= a.length; row++) {
		const next = [row];
		for (let column = 1; column <= b.length; column++) {
			const isEqual = a[row - 1] === b[column - 1];
			const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
			next.push(
				Math.min(
					(last[column - 1] ?? 0) + (isEqual ? 0 : 1),
					(last[column] ?? 0) + 1,
					(next[column - 1] ?? 0) + 1,
					isSwapped ? (before[column - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY,
				),
			);
		}
		[before, last] = [last, next];
	}
	return last[b.length] ?? 0;
}

/** Splits a streamed text into lines. Copies each piece once, however long its line is. */
export class LineSplitter {
	#begun: string[] = [];

	/** The number of characters of the unfinished line. */
	length = 0;

	/** Adds the next piece. Returns the lines that are now complete, without line breaks and without empty lines. */
	push(text: string): readonly string[] {
		const [first = '', ...others] = text.split('\n');
		this.#begun.push(first);
		this.length += first.length;
		const last = others.pop();
		if (last === undefined) return [];
		const ended = this.#begun.join('');
		this.#begun = [last];
		this.length = last.length;
		return [ended, ...others].filter((line) => line !== '');
	}

	/** Returns the last line if it has no line break, else an empty text. */
	end(): string {
		const rest = this.#begun.join('');
		this.#begun = [];
		this.length = 0;
		return rest;
	}
}

/** Only this many characters of a text are searched. The rest is cut off. */
const longestSearched = 20_000;

/**
 * The forms of secrets by their issuer. Each form is a fixed beginning and a run of a character class. The
 * beginning cannot occur in the run, so a text is searched in linear time.
 */
const shapes: readonly RegExp[] = [
	// GitHub: https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
	/(?<![A-Za-z0-9])(?:gh[a-z]_\w{16,}|github_pat_\w{16,})/g,
	// A JWT (RFC 7519, 3): a header and a payload, which are JSON objects as base64url, and usually a signature.
	/(?<![\w-])eyJ[\w-]{6,}\.[\w-]{2,}(?:\.[\w-]*){0,3}/g,
	// Runlet's own keys and tokens, and secrets of webhooks.
	/(?<![A-Za-z0-9])(?:rls?_[a-z0-9]{8,}_[\w-]{16,}|whsec_[\w+/=-]{16,})/g,
	// Anthropic, OpenAI and others; Stripe; xAI; Groq; Google; Slack.
	/(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|xai-\w{16,}|gsk_\w{16,}|AIza[\w-]{30,}|xox[a-z]-[\w-]{10,})/g,
];

/** The id of an AWS key: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html */
const awsId = /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g;
const awsNames = /aws_?secret|secret_?access_?key|aws_?session_?token/i;
/** The secret of an AWS key: any 40 characters of base64. A session's token is longer. */
const awsSecret = /(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{100,}={0,2})(?![A-Za-z0-9+/=])/g;

/**
 * Replaces everything that looks like a secret by `[key]`: keys of GitHub, AWS, model providers and Runlet, and JWTs.
 * For error messages, which may quote any text. Returns at most the first 20,000 characters.
 */
export function redactSecrets(text: string): string {
	let out = text.length > longestSearched ? `${text.slice(0, longestSearched)}…` : text;
	const hasAws = out.search(awsId) >= 0 || awsNames.test(out);
	for (const shape of shapes) out = out.replace(shape, '[key]');
	return hasAws ? out.replace(awsId, '[key]').replace(awsSecret, '[key]') : out;
}
