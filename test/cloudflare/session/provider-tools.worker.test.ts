/** The provider's own tools in a session: the request, the events, the rows and the cost. */
import { afterEach, expect, test } from 'vitest';
import { allEvents, createSession, follow, readHistory, readState, request, restart, send } from '../../client.ts';
import { network } from '../../script.ts';
import { dot } from '../../worker.ts';

const { fetch: unexpected } = network;
afterEach(() => {
	network.fetch = unexpected;
});

function streamOf(events: readonly { readonly type: string; readonly [field: string]: unknown }[]): Response {
	const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
	return new Response(lines, { headers: { 'content-type': 'text/event-stream' } });
}

const page = { type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'secret' };
const citation = {
	type: 'web_search_result_location',
	url: page.url,
	title: page.title,
	cited_text: 'It is blue.',
	encrypted_index: 'secret',
};
const blocks = [
	{ type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'sky' } },
	{ type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [page] },
];
const searched = [
	{
		type: 'message_start',
		message: { id: 'msg_1', model: 'claude-sonnet-4-6', usage: { input_tokens: 1_000, output_tokens: 1 } },
	},
	...blocks.flatMap((content_block, index) => [
		{ type: 'content_block_start', index, content_block },
		{ type: 'content_block_stop', index },
	]),
	{ type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
	{ type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation } },
	{ type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Blue.' } },
	{ type: 'content_block_stop', index: 2 },
	{
		type: 'message_delta',
		delta: { stop_reason: 'end_turn' },
		usage: { output_tokens: 1_000, server_tool_use: { web_search_requests: 1 } },
	},
	{ type: 'message_stop' },
];

const call = { id: 'srv_1', name: 'web_search', input: { query: 'sky' } };
const found = { ...call, output: [{ url: page.url, title: 'A' }] };
const source = { id: expect.any(String), url: page.url, title: 'A', quote: 'It is blue.' };

test('requests, shows, stores, replays and charges a search of the provider', async () => {
	const bodies: Readonly<Record<string, unknown>>[] = [];
	network.fetch = (body) => {
		bodies.push(body);
		return streamOf(searched);
	};
	const id = await createSession('searcher');
	const live = await allEvents(await send(id, 'Which colour has the sky?'));
	expect(bodies[0]).toMatchObject({
		tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2, allowed_domains: ['a.example'] }],
		service_tier: 'standard_only',
	});
	const of = (type: string, events = live) => events.filter((event) => event.type === type).map(({ data }) => data);
	expect(of('provider_tool')).toMatchObject([call, found]);
	expect(of('source')).toMatchObject([source]);
	const [step] = of('step');
	// 1,000 tokens at $3 a million, 1,000 tokens at $15 a million, and a search at $0.01.
	const usage = { units: { web_searches: 1 }, costUsd: 0.028 };
	expect(step).toMatchObject({ providerCalls: [found], sources: [source], usage });
	expect((await readHistory(id))[1]).toMatchObject({ providerCalls: [found], sources: [source] });
	expect(JSON.stringify([live, await readHistory(id)])).not.toContain('secret');
	expect((await readState(id)).budget).toMatchObject({ spent: { tokens: 2_000, usd: 0.028 } });

	await restart(id);
	const again = await allEvents(await follow(id));
	const last = (events: typeof live) => [
		...new Map(of('provider_tool', events).map((one) => [JSON.stringify(Object(one).id), one])).values(),
	];
	expect(last(again)).toEqual(last(live));
	for (const type of ['source', 'step', 'stop', 'done']) expect(of(type, again)).toEqual(of(type));

	await allEvents(await send(id, 'Sure?'));
	// Provider metadata goes back to the provider.
	expect(JSON.stringify(bodies[1])).toContain('"encrypted_content":"secret"');
});

test('an image of a model becomes a file of the session, and no message has its bytes', async () => {
	const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: dot };
	const response = {
		id: 'resp_1',
		model: 'gpt-5.4',
		status: 'completed',
		output: [image],
		usage: { input_tokens: 1, output_tokens: 1 },
	};
	network.fetch = () =>
		streamOf([
			{ type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
			{ type: 'response.completed', response },
		]);
	const id = await createSession('painter');
	const live = await allEvents(await send(id, 'Draw a dot.'));
	const history = await readHistory(id);
	const file = expect.stringMatching(/^images\/[a-z0-9]{11}\.png$/);
	expect(history[1]).toMatchObject({
		parts: [{ kind: 'image', name: file, mime: 'image/png', meta: { file } }],
		providerCalls: [{ id: 'ig_1', name: 'image_generation', output: { file } }],
	});
	expect(JSON.stringify([live, history])).not.toContain(dot.slice(0, 40));
	const [, name = ''] = /"file":"(images\/[^"]+)"/.exec(JSON.stringify(history)) ?? [];
	const given = await request(`/v1/sessions/${id}/files/${name}`);
	expect(given.headers.get('content-type')).toBe('image/png');
	expect(btoa(String.fromCharCode(...new Uint8Array(await given.arrayBuffer())))).toBe(dot);
	const exported = await (await request(`/v1/sessions/${id}/export`)).text();
	expect(exported).toContain(`[image:${name}]`);
});
