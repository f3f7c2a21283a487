import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTemplate } from '../../../../src/cloudflare/agent/user-tools/template.ts';

const read = (url: string) => readTemplate(url, { allowLoopback: false });

test.each<[what: string, input: Record<string, unknown>, message: RegExp]>([
	['..', { city: '..' }, /\.\./],
	['../..', { city: '../../admin' }, /\.\./],
	['..\\', { city: '..\\admin' }, /\.\./],
	['an encoded ..', { city: '%2e%2e' }, /\.\./],
	['an encoded ../', { city: '..%2fadmin' }, /\.\./],
	['.', { city: '.' }, /\.\./],
	['an empty value', { city: '' }, /city: empty/],
	['a missing value', {}, /city: missing/],
	['an object', { city: { a: 1 } }, /city: it stands in the URL/],
	['a lone surrogate', { city: '\ud800' }, /city/],
	['a value that is too long', { city: 'x'.repeat(9_000) }, /8000 characters/],
])('%s is refused in the path of a URL', (_, input, message) => {
	expect(() => read('https://example.com/a/{city}/x').fill(input)).toThrow(message);
});

test('two values that are harmless alone cannot form `..` when they are joined', () => {
	expect(() => read('https://example.com/{a}{b}/x').fill({ a: '.', b: '.' })).toThrow(/\.\./);
	expect(read('https://example.com/v{a}.{b}').fill({ a: 1, b: true }).pathname).toBe('/v1.true');
});

test('no value changes the host, the path segments or the query fields of a URL template', () => {
	const { fill } = read('https://example.com/a/{one}/b?c={two}&d=1');
	fc.assert(
		fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
			let url: URL;
			try {
				url = fill({ one, two });
			} catch {
				return;
			}
			expect(url.origin).toBe('https://example.com');
			expect(url.pathname.split('/')).toHaveLength(4);
			expect(decodeURIComponent(url.pathname)).toBe(`/a/${one}/b`);
			expect([...url.searchParams]).toEqual([
				['c', two],
				['d', '1'],
			]);
			expect(url.hash).toBe('');
		}),
	);
});
