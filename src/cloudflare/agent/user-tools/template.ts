import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../core/base/public-fetch.ts';
import { createRefusal } from './headers.ts';

export interface Template {
	readonly fields: readonly string[];
	/** Fills and encodes the fields. Throws `invalid_argument` for a value that is no scalar or changes the path. */
	fill(values: Readonly<Record<string, unknown>>): URL;
}

const place = /\{([^{}]*)\}/g;
/** The part of a URL before its path. Fields cannot change it. */
const origin = /^[a-z]+:\/\/[^/?#{}]+(?=[/?]|$)/i;

/** The maximum length of a filled URL. */
const longest = 8_000;

/** Throws `invalid_request` for a URL that must not be fetched, and for a field in a wrong place. */
export function readTemplate(url: string, options: { readonly allowLoopback: boolean }): Template {
	if (url.includes('${'))
		throw refuse('it has a place for a secret. Secrets go into headers only, because URLs are written into logs');
	if (url.includes('#')) throw refuse('it has a fragment, which is never sent. Take it out');
	const fields = [...new Set([...url.matchAll(place)].map(([, field = '']) => field))];
	if (fields.includes('')) throw refuse('{} names no field');
	if (/[{}]/.test(url.replace(place, ''))) throw refuse('a brace is open. Write {field}, or %7B for a brace');
	const [start] = origin.exec(url) ?? [];
	if (start === undefined && url.includes('{'))
		throw refuse('a field may stand in the path and in the query, not before. Write the host as it is');
	const base = assertPublicUrl(url.replace(place, 'x'), options);
	if (/(^|\/)\.{1,2}(\/|$)/.test(readPath(url)))
		throw refuse('its path has .. or . in it. Write the path as it is meant');
	return {
		fields,
		fill: (values) => {
			const filled = url.replace(place, (_, field: string) => encodeURIComponent(toText(values[field], field)));
			assertPath(readPath(url), values);
			if (filled.length > longest)
				throw new RunletError('invalid_argument', `The URL has more than ${longest} characters. Send shorter values.`);
			const parsed = assertPublicUrl(filled, options);
			if (parsed.origin !== base.origin) throw refuse('it leads to another host');
			return parsed;
		},
	};
}

/** Throws `invalid_argument` for a value that is no text, number or boolean. */
export function toText(value: unknown, field: string): string {
	const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
	const text = String(value);
	if (isScalar && text.isWellFormed()) return text;
	const got = value === undefined ? 'missing' : 'it stands in the URL';
	throw createFieldError('invalid_argument', field, `${got}. Give a text, a number, true or false.`);
}

function readPath(url: string): string {
	return url.replace(origin, '').split('?', 1)[0] ?? '';
}

/** Refuses values that lead to another path: an empty part, or `..`. */
function assertPath(path: string, values: Readonly<Record<string, unknown>>): void {
	for (const [, field = ''] of path.matchAll(place)) {
		const text = toText(values[field], field);
		if (text === '') throw createFieldError('invalid_argument', field, 'empty. It is a part of the path.');
	}
	// Some servers decode %2F and %5C before they split the path.
	const filled = path.replace(place, (_, field: string) => toText(values[field], field));
	const parts = filled.split(/[/\\]|%2f|%5c/i).map((part) => part.replaceAll(/%2e/gi, '.'));
	if (!parts.some((part) => /^\.{1,2}$/.test(part.trim()))) return;
	throw new RunletError(
		'invalid_argument',
		'The path would have .. or . in it, which leads to another one. Give a name.',
	);
}

function refuse(what: string): RunletError {
	return createRefusal('url', what);
}
