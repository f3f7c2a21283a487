import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCallSorter } from '../../../src/cloudflare/session/events/call-order.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

const readId = (event: RunEvent): string | undefined =>
	'id' in event && typeof event.id === 'string' ? event.id : undefined;

/** Calls whose pieces come mixed, each call's own in order, with texts between; some calls have no end. */
const mixed = fc
	.array(fc.tuple(fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }), fc.boolean()), {
		minLength: 1,
		maxLength: 5,
	})
	.chain((calls) => {
		const queues = calls.map(([parts, ends], index): RunEvent[] => [
			{ type: 'tool_use_start', id: `c${index}`, name: 'tool' },
			...parts.map((partialInputJson): RunEvent => ({ type: 'tool_use_input', id: `c${index}`, partialInputJson })),
			...(ends ? [{ type: 'tool_use_end', id: `c${index}` } as const] : []),
		]);
		const total = queues.reduce((sum, queue) => sum + queue.length, 0);
		return fc.array(fc.nat({ max: 99 }), { minLength: total, maxLength: total }).map((picks) => {
			const left = queues.map((queue) => [...queue]);
			const out: RunEvent[] = [];
			for (const pick of picks) {
				const open = left.filter((queue) => queue.length > 0);
				const event = open[pick % open.length]?.shift();
				if (event !== undefined) out.push(event);
				if (pick % 7 === 0) out.push({ type: 'text', text: String(pick) });
			}
			return [...out, { type: 'stop', reason: 'tool_use', usage: {} } as const];
		});
	});

test('calls that are streamed at once come out one after another, and nothing is lost', () => {
	fc.assert(
		fc.property(mixed, fc.integer({ min: 1, max: 5 }), (events, size) => {
			const inOrder = createCallSorter();
			const out: RunEvent[] = [];
			for (let at = 0; at < events.length; at += size) out.push(...inOrder(events.slice(at, at + size)));
			expect(out.map((event) => JSON.stringify(event)).sort()).toEqual(
				events.map((event) => JSON.stringify(event)).sort(),
			);
			const ids = out.flatMap((event) => readId(event) ?? []);
			expect(ids.filter((id, index) => id !== ids[index - 1])).toEqual([...new Set(ids)]);
			for (const id of new Set(ids)) {
				expect(out.filter((event) => readId(event) === id)).toEqual(events.filter((event) => readId(event) === id));
			}
			expect(out.at(-1)?.type).toBe('stop');
		}),
	);
});

test('a run without calls passes as it is', () => {
	const events: RunEvent[] = [{ type: 'text', text: 'a' }];
	expect(createCallSorter()(events)).toBe(events);
});
