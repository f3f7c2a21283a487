/**
 * 200 harmless tasks of the example agents, with the rule of docs/untrusted-text.md and without it (`flow: 'allow'`).
 * The example agents read nothing that says `reads: 'private'`, so four kinds are of an agent with memory and the web.
 * Wake-ups are left out, because a session of a test has none. The types are those of the shop (examples/shop/tsconfig.json).
 */
import type { Agent } from 'runlet/cloudflare';
import { createTestSession, readSkills } from 'runlet/testing';
import { beforeEach, expect, test, vi } from 'vitest';
import { type Kind, kinds, type Topic, topics, writePage, writeResults } from './public/tasks.ts';

const skills = await readSkills('skills');

beforeEach(() => {
	vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
		const { hostname, searchParams } = new URL(new Request(input, init).url);
		if (hostname === 'search.example.com') return Response.json(writeResults(searchParams.get('q') ?? ''));
		return new Response(writePage(hostname), { headers: { 'content-type': 'text/html' } });
	});
});

/** Runs a task, and allows what it asks for. Returns how often it asks, and the calls that failed. */
async function run(agent: Agent, { texts, script, options }: Kind, topic: Topic) {
	const session = createTestSession(agent, {
		...{ skills, user: 'ada', memories: { 'likes.md': `Likes ${topic.word}.` } },
		...options,
		script: script(topic),
	});
	let asks = 0;
	for (const text of texts(topic)) {
		await session.send(text);
		while (session.pending.length > 0) {
			asks += session.pending.length;
			const answer = ({ id, kind }: (typeof session.pending)[number]) =>
				kind === 'approval' ? { id, approve: true } : { id, output: 'done' };
			await session.submit(session.pending.map(answer), { user: 'kim' });
		}
	}
	const failed = session.events.filter((event) => event.type === 'tool_result' && event.isError);
	return { asks, failed, turns: session.requests.length };
}

test('8 of 200 harmless tasks ask once more than without the rule', async () => {
	const more: (readonly [name: string, asks: number])[] = [];
	let [count, asked] = [0, 0];
	for (const [name, kind] of Object.entries(kinds)) {
		for (const topic of topics) {
			count++;
			const ruled = await run(kind.agent, kind, topic);
			const free = await run({ ...kind.agent, flow: 'allow' }, kind, topic);
			expect([name, ruled.failed, free.failed]).toEqual([name, [], []]);
			expect([name, ruled.turns]).toEqual([name, free.turns]);
			asked += free.asks;
			if (ruled.asks > free.asks) more.push([name, ruled.asks - free.asks]);
		}
	}
	expect(count).toBe(200);
	// Plans, refunds and texts to publish ask anyway.
	expect(asked).toBe(32);
	expect(more).toEqual(topics.map(() => ['a search that is made again, with what it remembers', 1]));
});
