import { expect, test } from 'vitest';
import { readLines } from '../../../src/cloudflare/objects/outside-call.ts';
import { toByteStream } from '../../../src/cloudflare/objects/reach.ts';

test('reads lines of JSON, and skips keep-alive comments', async () => {
	const bytes = toByteStream('{"n":1}\n: keep-alive\n\n{"n":2}\n: keep-alive\n\n');
	expect(await Array.fromAsync(readLines<{ n: number }>(bytes, AbortSignal.timeout(10_000)))).toEqual([
		{ n: 1 },
		{ n: 2 },
	]);
});
