import { expect, test } from 'vitest';
import { allEvents, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import { createSessionFor, createUser } from '../memory/people.ts';

test('old results stay replaced by references after a restart, and read_result opens them', async () => {
	const texts = Array.from({ length: 7 }, (_, n) => `result ${n} `.padEnd(6_000, 'abc '));
	const calls = texts.map((text, n) => [{ toolCalls: [{ id: `c${n}`, name: 'echo', input: { text } }] }, `Done ${n}.`]);
	const opens = { toolCalls: [{ id: 'open', name: 'read_result', input: { id: 'c1' } }] };
	const { requests } = play(...calls.flat(), opens, 'There it is.', 'Fine.');
	const id = await createSessionFor(createUser(), 'economical');
	const warned: unknown[] = [];
	for (const text of [...texts.map((_, n) => `message ${n}`), 'What was it?', 'Good.']) {
		const events = await allEvents(await send(id, text));
		expect(events.at(-1)?.type).toBe('done');
		warned.push(...events.flatMap(({ data }) => (data.code === 'results_referred' ? [text] : [])));
		await restart(id);
	}
	expect(warned).toEqual(['message 5']);
	const read = (at: number) => JSON.stringify(requests.at(at)?.messages ?? []);
	expect(read(-4)).toContain('Call read_result with the id');
	// The run that opens a result begins with the input of the previous run, and so does the next run.
	for (const at of [-3, -2, -1]) expect(read(at).startsWith(read(at - 1).slice(0, -1))).toBe(true);
	const response = await request(`/v1/sessions/${id}/messages`);
	const { messages } = await response.json<{ messages: { toolCallId?: string; content?: unknown }[] }>();
	const find = (call: string) => JSON.stringify(messages.find(({ toolCallId }) => toolCallId === call)?.content);
	expect(find('c1')).toContain(texts[1]);
	expect(find('open')).toContain(texts[1]);
});
