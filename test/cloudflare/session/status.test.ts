import { expect, test } from 'vitest';
import { assertAllowed } from '../../../src/cloudflare/session/store/session-row.ts';

test('a refusal names at most five calls that wait for an approval, and five that wait for a result', () => {
	const results = Array.from({ length: 7 }, (_, n) => ({ id: `r${n}` }));
	expect(() => assertAllowed('awaiting_tools', 'reply', [{ id: 'pay', kind: 'approval' }, ...results])).toThrow(
		'Possible: POST tool-results, POST cancel. Waiting for the approval of "pay". Waiting for the result of "r0", "r1", "r2", "r3", "r4" and 2 more.',
	);
	expect(() => assertAllowed('awaiting_tools', 'reply', [])).toThrow(
		/Possible: POST continue, POST step, POST cancel\.$/,
	);
});
