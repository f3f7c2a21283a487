import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findBlock } from '../docs.ts';
import { startRunlet } from '../runlet.ts';

let runlet: Awaited<ReturnType<typeof startRunlet>>;
beforeAll(async () => {
	runlet = await startRunlet('--var', 'GITHUB_WEBHOOK_SECRET:change-me');
});
afterAll(() => runlet?.close());

const taken = v.object({ sessionId: v.string(), runId: v.string() });
const history = v.object({ messages: v.array(v.object({ role: v.string(), content: v.string() })) });

/** The block of docs/webhooks.md that signs and posts an event; its status and what it was answered with. */
async function deliver(): Promise<readonly [status: string | undefined, body: v.InferOutput<typeof taken>]> {
	const block = findBlock('docs/webhooks.md', 'BODY=').replace('http://127.0.0.1:8787', runlet.url);
	const { stdout } = await promisify(execFile)('sh', ['-c', block]);
	const [head = '', body = ''] = stdout.split('\r\n\r\n');
	return [/^HTTP\/1.1 (\d+)/.exec(head)?.[1], v.parse(taken, JSON.parse(body))];
}

test('the event of docs/webhooks.md is answered by triage, once', async () => {
	const [status, body] = await deliver();
	expect(status).toBe('202');
	const events = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/events`)).text();
	expect(events).toContain('event: done');
	const messages = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/messages`)).json();
	const contents = v.parse(history, messages).messages.map(({ content }) => content);
	expect(contents[0]).toContain('ada opened issue you/shop#7 "Typo in the README"');
	expect(contents.at(-1)).toContain('#7 is labelled documentation');
	expect(await deliver()).toEqual(['200', body]);
	const again = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/messages`)).json();
	expect(again).toEqual(messages);
});
