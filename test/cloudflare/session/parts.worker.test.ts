import { expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';
import { allEvents, createSession, follow, readHistory, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import { dot } from '../../worker.ts';

const parts = [
	{ kind: 'text', text: 'A dot.' },
	{ kind: 'image', data: dot, mime: 'image/png' },
	{ kind: 'file', data: 'aGk=', mime: 'text/plain', name: 'hi.txt' },
] as const;
const content = 'A dot.\n\n[image:image]\n\n[file:hi.txt]';

test('streams, stores, replays, resends, exports and shows a result with parts', async () => {
	const id = await createSession();
	const drawn = { toolCalls: [{ id: 'a', name: 'draw', input: { caption: 'A dot.' } }] };
	play(drawn, 'Drawn.');
	const live = await allEvents(await send(id, 'draw'));
	const isResult = ({ type }: { readonly type: string }) => type === 'tool_result' || type === 'step';
	expect(live.find(isResult)?.data).toMatchObject({ id: 'a', output: content, isError: false, parts });
	await restart(id);
	const again = await allEvents(await follow(id));
	expect(again.filter(isResult)).toEqual(live.filter(isResult));
	const message = { role: 'tool', toolCallId: 'a', content, isError: false, parts };
	expect((await readHistory(id))[2]).toMatchObject(message);
	const { messages } = await (await request(`/v1/sessions/${id}/export`)).json<{ messages: unknown[] }>();
	expect(messages[2]).toMatchObject(message);
	const { requests } = play('Yes.');
	await allEvents(await send(id, 'Do you see it?'));
	expect(requests[0]?.messages[2]).toEqual(message);
	expect(chat.messageText(requests[0]?.messages[2] ?? chat.userMessage(''))).toBe(content);
	const page = await request(`/v1/ui/scripted/${id}/messages`);
	expect(JSON.stringify(await page.json())).toContain(`"url":"data:image/png;base64,${dot}"`);
});
