import { expect, test } from 'vitest';
import { readState, request, restart } from '../../client.ts';
import { play } from '../../script.ts';

const input = {
	...{ threadId: 'killed', runId: 'run-1', state: {}, tools: [], context: [], forwardedProps: {} },
	messages: [{ id: 'm1', role: 'user', content: 'Go' }],
};
const run = () => request('/v1/ag-ui/scripted', input);
const toEvents = async (response: Response): Promise<Record<string, unknown>[]> =>
	(await response.text()).split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));

test('a client of AG-UI whose session dies during a run gets an error, and the same runId gets the rest of the run', async () => {
	const { requests } = play(() => new Promise(() => {}), 'Here.');
	const response = await run();
	const session = response.headers.get('runlet-session') ?? '';
	await expect.poll(() => requests.length).toBe(1);
	const read = toEvents(response);
	await restart(session);
	expect((await read).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'interrupted' });
	const again = await toEvents(await run());
	expect(again.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: 'Here.' });
	expect(await readState(session)).toMatchObject({ status: 'completed' });
	expect(requests.map(({ messages }) => messages.length)).toEqual([1, 1]);
});
