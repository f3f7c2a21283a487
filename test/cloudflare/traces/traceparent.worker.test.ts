import { describe, expect, test } from 'vitest';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import { allEvents, createSession, follow, readHistory, request, restart } from '../../client.ts';
import { play } from '../../script.ts';
import { cast, createEditor, give, readChildren } from '../session/family.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';
import { call, readTrace } from './collector.ts';

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const headers = { traceparent: `00-${caller.traceId}-${caller.spanId}-00` };
const say = (id: string, text: string, more: Readonly<Record<string, string>> = headers) =>
	request(`/v1/sessions/${id}/messages`, { text }, more);
const toIds = (spans: readonly TraceSpan[]) => spans.map(({ traceId, parentSpanId }) => ({ traceId, parentSpanId }));

describe('a request with a traceparent', () => {
	const page = (id: string) => ({ id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
	const ways: Readonly<Record<string, (session: string) => Promise<Response>>> = {
		'a message': (id) => say(id, 'Hi'),
		'a new session': () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' }, headers),
		'a page of the AI SDK': () => request('/v1/ui/scripted', page(crypto.randomUUID()), headers),
		'a completion': () =>
			request(
				'/v1/chat/completions',
				{ model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] },
				{ ...headers, 'runlet-session': crypto.randomUUID() },
			),
		'a webhook': () => {
			const body = JSON.stringify({ id: crypto.randomUUID(), message: 'Hi' });
			const about = { id: crypto.randomUUID(), at: Math.floor(Date.now() / 1_000), secrets: [senders.hmac.secret] };
			return request('/v1/webhooks/hooked/hmac', JSON.parse(body), {
				...senders.hmac.headers(body, about),
				...headers,
			});
		},
	};

	test.each(Object.entries(ways))('(%s) puts its run into the trace of the caller', async (_, ask) => {
		play('Hi.');
		const session = await createSession();
		const response = await ask(session);
		const body = await response.text();
		const id =
			response.headers.get('runlet-session') ??
			response.headers.get('location')?.split('/').at(-1) ??
			/"sessionId":"(\w+)"/.exec(body)?.[1] ??
			/_(\w{64})$/.exec(response.headers.get('x-request-id') ?? '')?.[1] ??
			session;
		await allEvents(await follow(id));
		const [root, chat] = await readTrace(id);
		expect(root).toMatchObject({ traceId: caller.traceId, parentSpanId: caller.spanId });
		expect(chat).toMatchObject({ traceId: caller.traceId, parentSpanId: root?.spanId });
	});

	test('puts only its own run there, also after it waited and after a crash', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'One.'), 'Two.', 'Three.');
		const id = await createSession();
		const first = say(id, 'one', {});
		await expect.poll(async () => (await request(`/v1/sessions/${id}`)).json()).toMatchObject({ status: 'running' });
		await (await say(id, 'two', { ...headers, prefer: 'respond-async' })).text();
		gate.resolve();
		await (await first).text();
		await allEvents(await follow(id));
		await restart(id);
		await (await say(id, 'three', {})).text();
		const roots = (await readTrace(id)).filter(({ name }) => name.startsWith('invoke_agent'));
		const none = { traceId: expect.not.stringContaining(caller.traceId), parentSpanId: undefined };
		expect(toIds(roots)).toEqual([none, { traceId: caller.traceId, parentSpanId: caller.spanId }, none]);
	});

	test('that approves a call leaves the run in the trace of its first request', async () => {
		const id = await createSession();
		play({ toolCalls: [call('p', 'pay', { amount: 5 })] }, 'Paid.');
		await (await say(id, 'Pay', {})).text();
		await (await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }], headers)).text();
		const [root, ...spans] = await readTrace(id);
		expect(root?.parentSpanId).toBeUndefined();
		expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root?.traceId]));
		expect(root?.traceId).not.toBe(caller.traceId);
	});

	test('that is wrong is answered as without one', async () => {
		const id = await createSession();
		play('Hi.');
		expect((await say(id, 'Hi', { traceparent: `00-${'0'.repeat(32)}-${caller.spanId}-01` })).status).toBe(200);
		expect((await readTrace(id))[0]?.parentSpanId).toBeUndefined();
	});
});

test('two sessions with one traceparent have no span id in common', async () => {
	const ids = await Promise.all([createSession(), createSession()]);
	const spans: TraceSpan[] = [];
	for (const id of ids) {
		play('Hi.', 'Hi.');
		await (await say(id, 'Hi')).text();
		await (await say(id, 'Hi')).text();
		const own = await readTrace(id);
		expect(own).toHaveLength(4);
		spans.push(...own);
	}
	expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([caller.traceId]));
	expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(8);
});

test('a tool gets the trace of its run and the span of its call, also in the run after an approval', async () => {
	const id = await createSession();
	play(
		{ toolCalls: [call('a', 'traced', {}), call('p', 'pay', { amount: 1 })] },
		{ toolCalls: [call('b', 'traced', {})] },
		'Done.',
	);
	await (await say(id, 'Go')).text();
	await (await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }])).text();
	const given = (await readHistory(id))
		.filter(({ content }) => /^00-/.test(`${content}`))
		.map(({ content }) => content);
	const calls = (await readTrace(id)).filter(({ name }) => name === 'execute_tool traced');
	expect(calls).toHaveLength(2);
	expect(given).toEqual(calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
	expect(calls[0]?.traceId).toBe(caller.traceId);
});

test('the call of an agent in the trace of a caller links to the trace of the child', async () => {
	const id = await createEditor();
	cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'There.'], writer: () => 'A poem.' });
	await (await say(id, 'go')).text();
	const [child] = await readChildren(id);
	const [root] = await readTrace(child?.id ?? '');
	const called = (await readTrace(id)).find(({ name }) => name === 'execute_tool writer');
	expect(called).toMatchObject({ traceId: caller.traceId, links: [{ traceId: root?.traceId, spanId: root?.spanId }] });
	expect(root?.traceId).not.toBe(caller.traceId);
});
