import { tool, toolbox } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';
import { type Clock, callTool, createTestSession, stopClock } from 'runlet/testing';
import { afterEach, expect, test } from 'vitest';

let clock: Clock | undefined;
afterEach(() => clock?.stop());

test('a stopped clock shows the same time until it advances, and runs due timers in order', async () => {
	clock = stopClock('2026-01-31T09:00:00Z');
	const seen: [string, string][] = [];
	const note = (name: string) => seen.push([name, new Date().toISOString().slice(11, 19)]);
	setTimeout(note, 2_000, 'second');
	setTimeout(() => {
		note('first');
		setTimeout(note, 500, 'within');
	}, 1_000);
	const never = setTimeout(note, 1_000, 'never');
	clearTimeout(never);
	setTimeout(note, 60_000, 'later');
	expect(Date.now()).toBe(Date.parse('2026-01-31T09:00:00Z'));
	await clock.advance(10_000);
	expect(seen).toEqual([
		['first', '09:00:01'],
		['within', '09:00:01'],
		['second', '09:00:02'],
	]);
	expect(new Date().toISOString()).toBe('2026-01-31T09:00:10.000Z');
	expect(new Date('2020-02-02')).toBeInstanceOf(Date);
	clock.stop();
	expect(Date.now()).toBeGreaterThan(Date.parse('2026-02-01T00:00:00Z'));
	clock = stopClock(0);
	expect(() => stopClock(0)).toThrow('The clock is stopped already');
});

test('a test does not wait for time limits and retries, and tools get the time of the clock', async () => {
	clock = stopClock('2026-01-31T09:00:00Z');
	const hang = tool.define({ name: 'hang', description: 'Hangs.', inputSchema: {}, fn: () => new Promise(() => {}) });
	const agent = defineAgent({ name: 'a', description: 'Waits.', tools: [hang, ...Object.values(toolbox.basic())] });
	const script = [callTool('hang'), Object.assign(new Error('busy'), { status: 529 }), callTool('get_time'), 'Done.'];
	const session = createTestSession(agent, { script });
	const run = session.send('Go.');
	await clock.advance(300_000);
	expect((await run).text).toBe('Done.');
	expect(session.messages[2]?.content).toBe('hang gave no result within 120000 ms.');
	expect(session.messages[4]?.content).toMatch(/Saturday.*31 January 2026 at 09:02/);
});
