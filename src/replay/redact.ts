import { toBase64, toFileText } from '../core/base/bytes.ts';
import { isRecord } from '../core/base/json.ts';
import { joinPieces } from './files.ts';
import type { Recording } from './recording.ts';

interface Pattern {
	readonly kind: string;
	readonly expression: RegExp;
	readonly fits?: (text: string) => boolean;
	/** Returns the pseudonym of a number. It has the form of the original, so that schemas accept it. */
	readonly write: (n: number) => string;
}

const usual: readonly Pattern[] = [
	{
		kind: 'key',
		expression:
			/\b(?:sk|pk|rk|rls?|gh[opsu]|github_pat|glpat|xox[abprs]|whsec)[-_][\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
		write: (n) => `sk-redacted-${String(n).padStart(10, '0')}`,
	},
	{
		kind: 'mail',
		expression: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g,
		write: (n) => `mail-${n}@redacted.invalid`,
	},
	{
		kind: 'card',
		expression: /\b\d(?:[ -]?\d){12,18}\b/g,
		fits: isCard,
		write: (n) => withCheckDigit(`4000000${String(n).padStart(8, '0')}`),
	},
];

/** Whether the last digit of a card number is the check digit of the others (Luhn). */
function isCard(text: string): boolean {
	const digits = text.replace(/\D/g, '');
	return withCheckDigit(digits.slice(0, -1)) === digits;
}

function withCheckDigit(digits: string): string {
	let sum = 0;
	for (const [at, digit] of [...digits].reverse().entries()) {
		const doubled = at % 2 === 0 ? 2 * Number(digit) : Number(digit);
		sum += doubled > 9 ? doubled - 9 : doubled;
	}
	return `${digits}${(10 - (sum % 10)) % 10}`;
}

function toPattern(source: string): Pattern {
	return { kind: 'own', expression: new RegExp(source, 'gu'), write: (n) => `redacted-${n}` };
}

/** The pseudonyms of one's own patterns. */
const pseudonyms: Pattern = { kind: 'own', expression: /\bredacted-\d+\b/g, write: (n) => `redacted-${n}` };

/**
 * Replaces keys, mail addresses, card numbers and the matches of one's own patterns in all texts of a recording. Equal
 * texts get equal pseudonyms. The recording keeps the patterns, so that a replay knows what may differ. Throws a
 * `SyntaxError` for a wrong pattern.
 */
export function redact(recording: Recording, own: readonly string[] = []): Recording {
	const names = new Map<string, string>();
	const counts = new Map<string, number>();
	const rewrite = createRewriter([...own.map(toPattern), ...usual], ({ kind, write }, text) => {
		const known = names.get(text);
		if (known !== undefined) return known;
		const n = 1 + (counts.get(kind) ?? 0);
		counts.set(kind, n);
		const name = write(n);
		names.set(text, name);
		return name;
	});
	const one = ({ children, files, ...rest }: Recording): Recording => ({
		...mapTexts(rest, rewrite),
		files: redactFiles(files, rewrite),
		redacted: { patterns: [...own] },
		...(children && { children: children.map(one) }),
	});
	return one(recording);
}

/** Returns a function that hides in any value what `redact` would replace, so that both sides of a replay are equal. */
export function createMask({ redacted }: Recording): (value: unknown) => unknown {
	if (redacted === undefined) return (value) => value;
	const patterns = [...redacted.patterns.map(toPattern), pseudonyms, ...usual];
	const rewrite = createRewriter(patterns, ({ kind }) => `‹${kind}›`);
	return (value) => mapTexts(value, rewrite);
}

/** Whether a value has a pseudonym that `redact` wrote. */
export function hasPseudonym(value: unknown): boolean {
	return /\bsk-redacted-\d{10}|\bmail-\d+@redacted\.invalid|\b4000000\d{9}\b|\bredacted-\d+\b/.test(
		JSON.stringify(value) ?? '',
	);
}

type Rewriter = (text: string) => string;

function createRewriter(patterns: readonly Pattern[], name: (pattern: Pattern, text: string) => string): Rewriter {
	return (text) =>
		patterns.reduce(
			(done, pattern) =>
				done.replace(pattern.expression, (found) => (pattern.fits?.(found) === false ? found : name(pattern, found))),
			text,
		);
}

function mapTexts<T>(value: T, rewrite: Rewriter): T;
function mapTexts(value: unknown, rewrite: Rewriter): unknown {
	if (typeof value === 'string') return rewrite(value);
	if (Array.isArray(value)) return value.map((one) => mapTexts(one, rewrite));
	if (!isRecord(value)) return value;
	return Object.fromEntries(Object.entries(value).map(([name, one]) => [rewrite(name), mapTexts(one, rewrite)]));
}

/** Joins the pieces of each file, and redacts the files that are texts. */
function redactFiles(pieces: Recording['files'], rewrite: Rewriter): Recording['files'] {
	const files = Map.groupBy(pieces, ({ path }) => path);
	return [...files].map(([path, list]) => {
		const bytes = joinPieces(list);
		const text = toFileText(bytes);
		const redacted = text === undefined ? bytes : new TextEncoder().encode(rewrite(text));
		return { ...list[0], path: rewrite(path), size: redacted.length, at: 0, base64: toBase64(redacted) };
	});
}
