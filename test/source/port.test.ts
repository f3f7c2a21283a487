import { expect, test } from 'vitest';
import { claimPort } from '../port.ts';

test('tests that ask for a port at the same time get different ones, and none that the system gives to others', async () => {
	const ports = await Promise.all(Array.from({ length: 300 }, claimPort));
	expect(new Set(ports).size).toBe(ports.length);
	expect(Math.max(...ports)).toBeLessThan(32_768);
});
