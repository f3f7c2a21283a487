import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RunletError } from '../../../src/core/base/errors.ts';
import { assertPublicUrl } from '../../../src/core/base/public-fetch.ts';

const refused: Readonly<Record<string, readonly string[]>> = {
	'another scheme': [
		'http://example.com/',
		'ftp://example.com/',
		'file:///etc/passwd',
		'data:text/plain,hello',
		'javascript:alert(1)',
		'blob:https://example.com/0',
		'ws://example.com/',
		'wss://example.com/',
		'gopher://example.com:70/_',
		'about:blank',
		'https+unix://example.com/',
	],
	'a text that is not a URL': [
		'',
		'example.com',
		'//example.com/',
		'/path',
		'https:',
		'https://',
		'https:///',
		'https://?',
		'https://[',
	],
	'an IPv4 address': [
		'https://127.0.0.1/',
		'https://127.1/',
		'https://127.0.1/',
		'https://0/',
		'https://0x0/',
		'https://0x7f.1/',
		'https://0x7f000001/',
		'https://0X7F.0.0.0x1/',
		'https://0177.0.0.1/',
		'https://00000177.1/',
		'https://2130706433/',
		'https://017700000001/',
		'https://127.0.0.1./',
		'https://127%2e0%2e0%2e1/',
		'https://%31%32%37.0.0.1/',
		'https://127。0。0。1/',
		'https://１２７.０.０.１/',
		'https://①②⑦.⓪.⓪.①/',
		'https://10.0.0.1/',
		'https://172.16.0.1/',
		'https://192.168.1.1/',
		'https://100.64.0.1/',
		'https://169.254.169.254/latest/meta-data/',
		'https://2852039166/',
		'https://0xa9fea9fe/',
		'https://0251.0376.0251.0376/',
		'https://0.0.0.0/',
		'https://255.255.255.255/',
		'https://224.0.0.1/',
		'https://8.8.8.8/',
		'https://1.1.1.1:443/',
		'https:127.0.0.1/',
		'https:/127.0.0.1/',
		'https:////127.0.0.1/',
		'https://1.2.3.4.5/',
		'https://example.com.1/',
		'https://256.256.256.256/',
	],
	'an IPv6 address': [
		'https://[::1]/',
		'https://[::]/',
		'https://[0:0:0:0:0:0:0:1]/',
		'https://[::ffff:127.0.0.1]/',
		'https://[::ffff:7f00:1]/',
		'https://[::ffff:0:127.0.0.1]/',
		'https://[::127.0.0.1]/',
		'https://[64:ff9b::7f00:1]/',
		'https://[2002:7f00:1::]/',
		'https://[fe80::1]/',
		'https://[fe80::1%25eth0]/',
		'https://[fc00::1]/',
		'https://[fd00:ec2::254]/',
		'https://[2606:4700:4700::1111]/',
	],
	'a name of a private network': [
		'https://localhost/',
		'https://LOCALHOST/',
		'https://ｌｏｃａｌｈｏｓｔ/',
		'https://lo\u00adcalhost/',
		'https://localhost./',
		'https://localhost%2e/',
		'https://a.localhost/',
		'https://localhost.localdomain/',
		'https://printer.local/',
		'https://metadata.google.internal/computeMetadata/v1/',
		'https://router.home.arpa/',
		'https://1.0.0.127.in-addr.arpa/',
		'https://nas.lan/',
		'https://git.corp/',
		'https://site.test/',
		'https://hidden.onion/',
		'https://intranet/',
		'https://metadata/',
		'https://com/',
		'https://kubernetes.default.svc.cluster.local/',
	],
	'a malformed host name': [
		'https://example.com./',
		'https://example.com%2e/',
		'https://example.com。/',
		'https://example..com/',
		'https://.example.com/',
		'https://./',
		'https://../',
		'https://example.0xg/',
		'https://example.c/',
		'https://example.com-/',
		'https://example.c0m/',
	],
	'a user or a password': [
		'https://user@example.com/',
		'https://user:secret@example.com/',
		'https://:secret@example.com/',
		'https://example.com@127.0.0.1/',
		'https://127.0.0.1:443@example.com/',
		'https://example.com%40@example.org/',
		'https://a:b@c@example.com/',
	],
	'another port': [
		'https://example.com:80/',
		'https://example.com:22/',
		'https://example.com:8443/',
		'https://example.com:0/',
		'https://example.com:65535/',
		'https://example.com:99999/',
	],
	'a URL that parsers read differently': [
		' https://example.com/',
		'https://example.com/ ',
		'https://exa\tmple.com/',
		'https://example.com/\r\nHost: localhost',
		'https://example.com\\@127.0.0.1/',
		'https:\\\\127.0.0.1\\',
		'https://127.0.0.1\\.example.com/',
		'https://example.com/\0',
		'https://exam\u0000ple.com/',
		'https://example.com/a\u2028b',
	],
};

/** The words that each refusal of a group must contain, for the groups whose refusals share them. */
const words: Readonly<Record<string, RegExp>> = {
	'an IPv4 address': /^url: (an IP address, not a name|not a URL)\. Give an https URL/,
	'an IPv6 address': /^url: (an IP address, not a name|not a URL)\. Give an https URL/,
	'a user or a password': /^url: holds a user or a password\./,
	'another port': /^url: (on a port other than 443|not a URL)\./,
};

const allowed = [
	'https://example.com',
	'https://example.com/',
	'https://example.com:443/a?b=c#d',
	'https://EXAMPLE.com/',
	'https://a.b.c.example.co.uk/hooks/1?token=2',
	'https://xn--bcher-kva.example/',
	'https://bücher.example/',
	'https://my_host.example/',
	'https://1.example.com/',
	'https://127.0.0.1.example.com/',
	'https://localhost.example.com/',
	'https://local.example/',
	'https://internal.example/',
	'https://example.com/?next=http://127.0.0.1/',
	'https://example.com/#@127.0.0.1',
	'https://example.com/http://localhost',
];

describe('assertPublicUrl', () => {
	for (const [what, urls] of Object.entries(refused)) {
		test(`refuses ${what}`, () => {
			const said = new Set(urls.map(messageFor));
			for (const message of said) expect(message).toMatch(words[what] ?? /^url: .+\. Give an https URL/);
		});
	}

	test('accepts public URLs and normalizes them', () => {
		for (const url of allowed) expect(assertPublicUrl(url).href).toBe(new URL(url).href);
	});

	test('checks a URL object like its text', () => {
		expect(isRefused(new URL('https://127.1/'))).toBe(true);
		expect(assertPublicUrl(new URL('https://example.com/a')).href).toBe('https://example.com/a');
	});

	test('refuses every spelling of an IP address', () => {
		const spelt = (n: number): string[] => [
			String(n),
			`0x${n.toString(16)}`,
			`0${n.toString(8)}`,
			[n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].join('.'),
			[n >>> 24, n & 0xffffff].join('.'),
			`0x${(n >>> 24).toString(16)}.0${((n >>> 16) & 255).toString(8)}.${n & 0xffff}`,
			`[::ffff:${(n >>> 16).toString(16)}:${(n & 0xffff).toString(16)}]`,
		];
		fc.assert(
			fc.property(fc.nat({ max: 0xffffffff }), (n) => {
				for (const host of spelt(n)) expect(isRefused(`https://${host}/`), host).toBe(true);
			}),
		);
	});

	test('accepts only https URLs with a name of two or more labels', () => {
		const host = fc.string({
			unit: fc.constantFrom('a', '1', '.', '0x', ':', '@', '[', ']', '%2e', '。', 'localhost'),
		});
		const text = fc.oneof(
			fc.webUrl({ withFragments: true, withQueryParameters: true }),
			fc.tuple(host, fc.string()).map(([name, rest]) => `https://${name}/${rest}`),
			fc.string({ unit: 'binary' }),
		);
		fc.assert(
			fc.property(text, (url) => {
				if (isRefused(url)) return;
				const { protocol, hostname, port, username, password } = assertPublicUrl(url);
				expect([protocol, port, username, password]).toEqual(['https:', '', '', '']);
				expect(hostname).toMatch(/^([^.[\]:@\s]+\.)+[^.[\]:@\s\d][^.[\]:@\s]*$/);
				expect(hostname).not.toMatch(/(^|\.)localhost$/);
			}),
			{ numRuns: 2_000 },
		);
	});

	test('throws an error that names the field and the remedy, and does not repeat the URL', () => {
		expect(() => assertPublicUrl('http://example.com/?token=s3cret', { field: 'callback.url' })).toThrow(
			expect.objectContaining({
				code: 'invalid_request',
				message: 'callback.url: not https. Give an https URL at a public name.',
				data: { field: 'callback.url' },
			}),
		);
		for (const url of Object.values(refused)
			.flat()
			.filter((url) => url.length > 20)) {
			expect(messageFor(url)).not.toContain(url);
		}
	});

	test('accepts loopback only if allowed, and only by its plain names', () => {
		const here = [
			'http://localhost:8787/a',
			'http://127.0.0.1/',
			'https://127.0.0.2:99/',
			'http://[::1]:1/',
			'http://127.1/',
		];
		for (const url of here) {
			expect(isRefused(url)).toBe(true);
			expect(assertPublicUrl(url, { allowLoopback: true }).href).toBe(new URL(url).href);
		}
		const elsewhere = [
			'http://example.com/',
			'http://10.0.0.1/',
			'http://0.0.0.0/',
			'http://[::ffff:127.0.0.1]/',
			'http://localhost./',
			'http://a.localhost/',
			'http://user@localhost/',
			'ftp://localhost/',
			'http://127.0.0.1.example.com/',
		];
		for (const url of elsewhere) expect(() => assertPublicUrl(url, { allowLoopback: true }), url).toThrow();
	});
});

function isRefused(url: string | URL): boolean {
	try {
		assertPublicUrl(url);
		return false;
	} catch (error) {
		if (error instanceof RunletError && error.code === 'invalid_request') return true;
		throw error;
	}
}

function messageFor(url: string): string {
	try {
		return assertPublicUrl(url).href;
	} catch (error) {
		return error instanceof Error ? error.message : '';
	}
}
