import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor, redactJson } from '../../../src/core/base/redactor.ts';

const secret = 'sk+live/9"x\\y&<Zq=7';
const redact = createRedactor([secret]);
const hex = (text: string) => Array.from(text, (sign) => sign.charCodeAt(0).toString(16).padStart(2, '0'));

const encodings: readonly (readonly [name: string, encode: (text: string) => string])[] = [
	['unchanged', (text) => text],
	['percent-encoded', encodeURIComponent],
	[
		'percent-encoded in lowercase letters',
		(text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
	],
	[
		'with every character percent-encoded',
		(text) =>
			hex(text)
				.map((code) => `%${code}`)
				.join(''),
	],
	['in JSON', (text) => JSON.stringify(text)],
	['in JSON with slashes escaped', (text) => JSON.stringify(text).replaceAll('/', '\\/')],
	[
		'with every character escaped as in JSON',
		(text) =>
			hex(text)
				.map((code) => `\\u00${code}`)
				.join(''),
	],
	['escaped as in HTML', (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
	[
		'as numeric HTML entities',
		(text) =>
			hex(text)
				.map((code) => `&#x${code};`)
				.join(''),
	],
	['as hexadecimal digits', (text) => hex(text).join('')],
	['as uppercase hexadecimal digits', (text) => hex(text).join('').toUpperCase()],
	['as base64', btoa],
	['as base64url', (text) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')],
	['as base64 within a longer text', (text) => btoa(`Bearer ${text} and more`)],
	['as base64 after one other character', (text) => btoa(`:${text}:`)],
	['as base64 with line breaks', (text) => btoa(`user:${text}`).replace(/.{8}/g, '$&\r\n')],
	['as base64 in JSON', (text) => JSON.stringify(btoa(text).replace(/.{8}/g, '$&\n')).replaceAll('/', '\\/')],
];

test.each(encodings)('a secret is removed if it is written %s', (_, encode) => {
	const shown = redact(`before ${encode(secret)} after`);
	expect(shown).toMatch(/^before .{0,14}\[secret\].{0,14} after$/s);
	expect(shown.length).toBeLessThan(50);
});

test('removes the decoded text of a base64 secret: the user with the password, and the password alone', () => {
	const basic = createRedactor([btoa('alice:wonderland')]);
	expect(basic('Hello alice:wonderland!')).toBe('Hello [secret]!');
	expect(basic('the password wonderland is weak')).toBe('the password [secret] is weak');
});

test('removes all secrets, and nothing else', () => {
	const both = createRedactor(['first-secret', 'second-secret']);
	expect(both('first-secret second-secret first-secretsecond-secret first-secre')).toBe(
		'[secret] [secret] [secret][secret] first-secre',
	);
	expect(createRedactor([])('anything')).toBe('anything');
});

test('removes overlapping occurrences of a secret', () => {
	expect(createRedactor(['abab'])('xabababx ababx')).toBe('x[secret]x [secret]x');
});

test('removes secrets from the strings and property names of a JSON value', () => {
	const value = { [`a ${secret}`]: [1, null, { b: encodeURIComponent(secret) }], c: true };
	expect(redactJson(value, redact)).toEqual({ 'a [secret]': [1, null, { b: '[secret]' }], c: true });
});

test('removes every printable secret in every encoding', () => {
	const visible = fc.string({
		unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)),
		minLength: 6,
		maxLength: 40,
	});
	fc.assert(
		fc.property(
			visible,
			fc.string(),
			fc.string(),
			fc.constantFrom(...encodings),
			(hidden, before, after, [, encode]) => {
				const written = encode(hidden);
				expect(createRedactor([hidden])(`${before} ${written} ${after}`)).not.toContain(written);
			},
		),
		{ numRuns: 300 },
	);
});

test('takes about as long for 1 MB of near matches as for 1 MB without matches', () => {
	const almost = createRedactor([`${'a'.repeat(4_000)}b`]);
	const measure = (text: string): number => {
		const from = performance.now();
		expect(almost(text)).toBe(text);
		return performance.now() - from;
	};
	const shortest = (text: string) => Math.min(...Array.from({ length: 3 }, () => measure(text)));
	expect(shortest('a'.repeat(1_000_000))).toBeLessThan(20 * shortest('x'.repeat(1_000_000)));
});
