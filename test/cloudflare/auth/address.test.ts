import { expect, test } from 'vitest';
import { toAddressKey } from '../../../src/cloudflare/routes/rate.ts';

test.each([
	['203.0.113.7', '203.0.113.7'],
	['::ffff:203.0.113.7', '203.0.113.7'],
	['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
	['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
	['2001:0DB8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
	['2001:db8:1:2::', '2001:db8:1:2::/64'],
	['2001:db8::1', '2001:db8:0:0::/64'],
	['2001:db8::', '2001:db8:0:0::/64'],
	['::1', '0:0:0:0::/64'],
	[undefined, undefined],
	['', undefined],
])('requests from %s are counted under %s', (address, key) => {
	expect(toAddressKey(address)).toBe(key);
});

test('counts all IPv6 addresses of one /64 network together', () => {
	expect(toAddressKey('2001:db8:1:2:aaaa::1')).toBe(toAddressKey('2001:db8:1:2:bbbb:cccc:dddd:eeee'));
	expect(toAddressKey('2001:db8:1:2::1')).not.toBe(toAddressKey('2001:db8:1:3::1'));
});
