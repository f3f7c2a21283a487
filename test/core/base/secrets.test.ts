import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findSecret, maskSecrets, prepareSecrets, SecretMask } from '../../../src/core/base/secrets.ts';

const url = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const hex = (text: string) => Buffer.from(text).toString('hex');
const quote = (text: string) => JSON.stringify(text).slice(1, -1);

/** The ways in which a value is written, each with what it does to a text. */
const encodings: Readonly<Record<string, (text: string) => string>> = {
	unchanged: (text) => text,
	'percent-encoded': encodeURIComponent,
	'percent-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
	'percent-encoded in lowercase': (text) => encodeURIComponent(text).replaceAll(/%../g, (code) => code.toLowerCase()),
	'percent-encoded in every character': (text) => hex(text).replaceAll(/../g, '%$&'),
	'as in a form': (text) => encodeURIComponent(text).replaceAll('%20', '+'),
	'as in JSON': quote,
	'as in JSON within JSON': (text) => quote(quote(text)),
	'as in JSON with slashes escaped': (text) => quote(text).replaceAll('/', '\\/'),
	'as in JSON with every character escaped': (text) =>
		text.replaceAll(/./gs, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`),
	'as base64': base64,
	'as base64url': (text) => url(base64(text)),
	'as base64 of a longer text': (text) => base64(`user:${text}, and more`),
	'as base64url of a longer text': (text) => url(base64(`u:${text}?`)),
	'as base64, percent-encoded': (text) => encodeURIComponent(base64(`me:${text}`)),
	'as hexadecimal digits': hex,
	'as uppercase hexadecimal digits': (text) => hex(text).toUpperCase(),
};

/** Values of visible ASCII, as secrets in headers have them. */
const values = fc
	.string({
		unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
		minLength: 10,
		maxLength: 80,
	})
	// What is left when it is decoded is long enough, too, and no escape is cut off.
	.filter((value) => value.replaceAll(/\\|%../g, '').length >= 12 && !/\\.{0,5}$/.test(value));
/** Arguments that hold one text: as a value or a name, at any depth. */
const places: readonly ((text: string) => unknown)[] = [
	(text) => ({ text }),
	(text) => ({ [text]: 1 }),
	(text) => ({ a: [{ b: [1, null, text] }] }),
	(text) => ({ a: { b: { [text]: true } } }),
	(text) => ({ body: JSON.stringify({ inner: text }) }),
	(text) => text,
];

describe.each(Object.entries(encodings))('a secret that is written %s', (_, encode) => {
	test('is found at any place in arguments, and masked there', () => {
		fc.assert(
			fc.property(values, fc.string(), fc.string(), fc.constantFrom(...places), (value, before, after, place) => {
				const needles = prepareSecrets([
					{ name: 'OTHER', value: 'another-secret' },
					{ name: 'KEY', value },
				]);
				const args = place(before + encode(value) + after);
				expect(findSecret(args, needles)).toBe('KEY');
				const masked = maskSecrets(args, needles);
				expect(JSON.stringify(masked)).toContain('[secret KEY]');
				expect(findSecret(JSON.parse(JSON.stringify(masked).replaceAll('[secret KEY]', '.')), needles)).toBeUndefined();
			}),
		);
	});
});

test('finds nothing in arguments without a secret, and leaves them as they are', () => {
	const needles = prepareSecrets([{ name: 'KEY', value: 'sk-ant-api03-0123456789' }]);
	fc.assert(
		fc.property(fc.jsonValue(), (args) => {
			expect(findSecret(args, needles)).toBeUndefined();
			expect(maskSecrets(args, needles)).toBe(args);
		}),
	);
	expect(findSecret({ text: 'sk-ant-api03-012345678' }, needles)).toBeUndefined();
});

test('ignores values of less than 12 characters', () => {
	const needles = prepareSecrets([{ name: 'SHORT', value: 'not-needed.' }]);
	expect(findSecret({ text: 'not-needed. bm90LW5lZWRlZC4=' }, needles)).toBeUndefined();
});

test('finds a secret that is a number, or a JSON object of its own', () => {
	const needles = prepareSecrets([
		{ name: 'PIN', value: '123456789012' },
		{ name: 'ACCOUNT', value: '{"user":"ada","pass":"w"}' },
	]);
	expect(maskSecrets({ pin: 123456789012 }, needles)).toEqual({ pin: '[secret PIN]' });
	expect(maskSecrets({ a: { user: 'ada', pass: 'w' } }, needles)).toEqual({ '[secret ACCOUNT]': true });
});

test('counts a mask as its secret', () => {
	const needles = prepareSecrets([{ name: 'KEY', value: 'sk-0123456789' }]);
	expect(findSecret(maskSecrets({ text: 'It is sk-0123456789.' }, needles), needles)).toBe('KEY');
});

test('masks a text that arrives in pieces as it masks the whole text', () => {
	fc.assert(
		fc.property(
			fc.array(values, { minLength: 1, maxLength: 3 }),
			fc.array(fc.oneof(fc.string(), fc.nat(2), fc.tuple(fc.nat(2), fc.nat(80)))),
			fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
			(secrets, parts, sizes) => {
				const needles = prepareSecrets(secrets.map((value, at) => ({ name: `KEY_${at}`, value })));
				const pick = (at: number) => secrets[at % secrets.length] ?? '';
				const text = parts
					.map((part) => {
						if (typeof part === 'string') return part;
						return typeof part === 'number' ? pick(part) : pick(part[0]).slice(0, part[1]);
					})
					.join('');
				const whole = new SecretMask(needles);
				const pieces = new SecretMask(needles);
				let shown = '';
				for (let at = 0; at < text.length; ) {
					const size = sizes.next().value ?? 1;
					shown += pieces.push(text.slice(at, at + size));
					at += size;
				}
				expect(shown + pieces.end()).toBe(whole.push(text) + whole.end());
				for (const value of secrets.filter((one) => !'[secret KEY_0] [secret KEY_1] [secret KEY_2]'.includes(one)))
					if (text.includes(value)) expect(shown).not.toContain(value);
			},
		),
	);
});
