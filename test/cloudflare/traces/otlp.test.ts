import { expect, test } from 'vitest';
import { otlp } from '../../../src/cloudflare/traces/index.ts';

const url = 'https://otlp.example.com/v1/traces';

test.each([
	['a missing address', {}, 'url'],
	['an address of another scheme', { url: 'ftp://otlp.example.com' }, 'url'],
	['no address', { url: 'otlp.example.com' }, 'url'],
	['a header that is no text', { url, headers: { a: 1 } }, 'headers'],
	['content that is no truth value', { url, content: 'yes' }, 'content'],
	['an empty service', { url, service: '' }, 'service'],
	['an unknown option', { url, header: {} }, 'headers'],
])('otlp refuses %s, and names the option', (_, options, field) => {
	expect(() => Reflect.apply(otlp, undefined, [options])).toThrow(
		expect.objectContaining({ code: 'not_configured', message: expect.stringContaining(field) }),
	);
});

test('otlp takes addresses and headers of the environment', () => {
	expect(otlp({ url: () => undefined, headers: () => ({}) })).toHaveProperty('open');
	expect(otlp({ url, headers: { authorization: 'Bearer key' }, content: true, service: 'shop' })).toHaveProperty(
		'open',
	);
});
