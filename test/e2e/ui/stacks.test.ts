/** Only a local developer sees the stack of a tool's error. */
import { afterEach, expect, test } from 'vitest';
import type { RunEvent } from '../../../src/client/index.ts';
import { createKey } from '../../../src/cloudflare/auth/key.ts';
import { call, type Stage, startStage, text } from './stage.ts';

let stage: Stage | undefined;
afterEach(() => stage?.close());

const turns = [[call('f1', 'fail')], [text('Oh.')]] as const;
const said = { agent: 'desk', text: 'Go' };

async function ask(url: string, body?: object, headers: Record<string, string> = {}) {
	const init = body && { method: 'POST', body: JSON.stringify(body) };
	const sent = { 'content-type': 'application/json', accept: 'text/event-stream', ...headers };
	return (await fetch(url, { ...init, headers: sent })).text();
}

const toEvents = (stream: string): RunEvent[] =>
	stream.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));

test('a local Worker shows the stack of a failed tool only to readers of the run, before the result', async () => {
	stage = await startStage();
	const { url, api, play } = stage;
	const sent = play(...turns);
	const { id } = JSON.parse(await ask(`${url}/v1/sessions`, { agent: 'desk' }, { accept: 'application/json' }));
	const events = toEvents(await ask(`${url}/v1/sessions/${id}/messages`, { text: 'Go' }));
	const at = events.findIndex(({ type }) => type === 'tool_stack');
	expect(events[at]).toEqual({
		type: 'tool_stack',
		id: 'f1',
		stack: expect.stringMatching(/^Error: No luck\.\n +at /),
	});
	expect(events.slice(at + 1).find(({ type }) => type === 'tool_result')).toMatchObject({
		id: 'f1',
		output: 'No luck.',
	});
	expect(events.at(-1)).toMatchObject({ type: 'done', text: 'Oh.' });

	const kept = await Promise.all(
		['messages', 'export', 'events'].map((part) => ask(`${url}/v1/sessions/${id}/${part}`)),
	);
	const user = { role: 'user', content: 'Go' };
	const others = [() => ask(`${url}/v1/sessions`, said, { accept: 'application/json' })];
	others.push(() => ask(`${url}/v1/chat/completions`, { model: 'desk', messages: [user], stream: true }));
	const page = { id: 'page', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }] };
	others.push(() => ask(api, { ...page, trigger: 'submit-message' }));
	const told = [JSON.stringify(sent), ...kept];
	for (const other of others) {
		play(...turns);
		told.push(await other());
		expect(told.at(-1)).toContain('Oh.');
	}
	for (const one of told) expect(one).not.toMatch(/tool_stack| at .*worker\.js/);
});

test('a deployed Worker shows the stack to no reader', async () => {
	const { key, record } = await createKey();
	stage = await startStage({ LOCAL: 'false', API_KEYS: JSON.stringify([record]) });
	stage.play(...turns);
	const stream = await ask(`${stage.url}/v1/sessions`, said, { authorization: `Bearer ${key}` });
	expect(toEvents(stream).map(({ type }) => type)).toEqual(expect.arrayContaining(['tool_result', 'done']));
	expect(stream).toContain('No luck.');
	expect(stream).not.toMatch(/tool_stack| at .*worker\.js/);
});
