import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import type { ApprovalRequest } from '../../../src/cloudflare/agent/approvers.ts';
import { hashKey, type KeyRecord, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { createRunlet, defineAgent } from '../../../src/cloudflare/runlet/index.ts';
import { type Actor, isSamePerson } from '../../../src/core/base/actor.ts';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import { readObject, readState, request, restart } from '../../client.ts';
import { play } from '../../script.ts';
import worker, { middlePolicy, policy } from '../../worker.ts';
import { connect } from '../mcp/client.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';
import { said } from './family.ts';

/** The requests to the policy of the agents. */
const asked: ApprovalRequest[] = [];

/** The policy: an asker may not decide. */
const others = (request: ApprovalRequest) => {
	asked.push(request);
	return !request.askers.some((asker) => isSamePerson(asker, request.by));
};

beforeEach(() => {
	asked.length = 0;
	policy.allows = others;
});

interface Made {
	readonly id: string;
	readonly token: string;
}
interface State {
	readonly status: string;
	readonly toolCalls?: readonly object[];
}

/** Creates a key for each of two people of one owner, and further keys. */
async function createKeys(...more: readonly Partial<KeyRecord>[]) {
	const create = async (about: Partial<KeyRecord>) => {
		const { id, key } = makeKey();
		const record: KeyRecord = { id, owner: 'office', hash: await hashKey(key), scopes: ['run'], ...about };
		const { owner, user } = record;
		const actor: Actor = { owner, ...(user !== undefined && { user }), via: 'key', id };
		return { id, key, actor, record };
	};
	const people = [{ user: 'ada', role: 'staff' }, { user: 'bob', role: 'staff' }, ...more] as const;
	const [ada, bob, ...rest] = await Promise.all(people.map(create));
	if (ada === undefined || bob === undefined) throw new Error('There are two keys.');
	const API_KEYS = JSON.stringify([ada, bob, ...rest].map(({ record }) => record));
	const bindings = { ...env, LOCAL: 'false', API_KEYS };
	const ask = async (credential: string, path: string, body?: unknown) =>
		worker.request(
			path.replace(/^https:\/\/[^/]+/, ''),
			{
				method: body === undefined ? 'GET' : 'POST',
				headers: { 'content-type': 'application/json', ...(credential && { authorization: `Bearer ${credential}` }) },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const readStatus = async (id: string) => (await ask(bob.key, `/v1/sessions/${id}`)).json<State>();
	return { ada, bob, rest, bindings, ask, readStatus };
}

const call = (id: string, amount = 5) => ({ id, name: 'pay', input: { amount } });

/** A session of `guarded` that waits for the approval of these calls, which a key asked for. */
async function waiting({ ask, ada }: Awaited<ReturnType<typeof createKeys>>, ...calls: ReturnType<typeof call>[]) {
	play({ toolCalls: calls.length === 0 ? [call('a')] : calls });
	return (await ask(ada.key, '/v1/sessions', { agent: 'guarded', text: 'go' })).json<Made>();
}

test('refuses an approval by the person who asked for the call, also after a crash', async () => {
	const keys = await createKeys();
	const { ada, bob, ask, readStatus } = keys;
	const { id } = await waiting(keys);
	await restart(id);
	for (const approve of [true, false]) {
		const refused = await ask(ada.key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve }]);
		expect(refused.status).toBe(403);
		expect(await refused.json()).toMatchObject({ error: { code: 'forbidden', data: { field: 'id' } } });
	}
	expect(await readStatus(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'a' }] });
	play('Paid.');
	const done = await ask(bob.key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]);
	expect(await done.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
	expect(asked.at(-1)).toEqual({
		by: { owner: 'office', user: 'bob', via: 'key', id: bob.id },
		askers: [{ owner: 'office', user: 'ada', via: 'key', id: ada.id }],
		approve: true,
		tool: 'pay',
		input: { amount: 5 },
		sessionId: id,
		owner: 'office',
		user: 'ada',
		metadata: {},
	});
});

test('a policy decides about denials as well as approvals', async () => {
	const keys = await createKeys();
	const { ada, bob, ask, readStatus } = keys;
	policy.allows = ({ approve, by }) => (by.id === ada.id ? !approve : approve);
	const { id } = await waiting(keys, call('a'), call('b'));
	const decide = (key: string, ...answers: object[]) => ask(key, `/v1/sessions/${id}/tool-results`, answers);
	expect((await decide(bob.key, { id: 'a', approve: false })).status).toBe(403);
	// A list of decisions is accepted completely or not at all.
	expect((await decide(bob.key, { id: 'a', approve: true }, { id: 'b', approve: false })).status).toBe(403);
	expect(await readStatus(id)).toMatchObject({ toolCalls: [{ id: 'a' }, { id: 'b' }] });
	expect((await decide(ada.key, { id: 'a', approve: false })).status).toBe(200);
	expect(await readStatus(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'b' }] });
});

test('counts every sender of the run’s messages as an asker', async () => {
	const keys = await createKeys();
	const { ada, bob, ask } = keys;
	play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which colour?' } }] }, { toolCalls: [call('a')] });
	const made = await ask(ada.key, '/v1/sessions', { agent: 'guarded', text: 'go' });
	const { id } = await made.json<Made>();
	await ask(bob.key, `/v1/sessions/${id}/answer`, { text: 'Red' });
	for (const { key } of [ada, bob])
		expect((await ask(key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }])).status).toBe(403);
	expect(asked.at(-1)?.askers).toEqual([ada.actor, bob.actor]);
});

test('a token or a link decides as the person whom it names, or as the session’s user if it names nobody', async () => {
	const keys = await createKeys();
	const { ada, bob, ask, readStatus } = keys;
	const { id } = await waiting(keys, call('a'), call('b'));
	policy.allows = (request) => asked.push(request) > 0 && request.by.user === 'boss';
	const makeToken = async (whom?: string) => {
		const made = await ask(bob.key, `/v1/sessions/${id}/token`, { scopes: ['approve'], for: whom });
		return made.json<{ token: string; tokenId: string }>();
	};
	const nameless = await makeToken();
	const decide = (token: string) => ask(token, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]);
	expect((await decide(nameless.token)).status).toBe(403);
	const { token, tokenId } = await makeToken('boss');
	await restart(id);
	expect((await decide(token)).status).toBe(200);
	const link = async (whom?: string) => {
		const made = await ask(bob.key, `/v1/sessions/${id}/links`, { callId: 'b', for: whom });
		return (await made.json<{ deny: string }>()).deny;
	};
	for (const whom of ['clerk', undefined]) {
		const refused = await ask(bob.key, `/v1/sessions/${id}/links`, { callId: 'b', for: whom });
		expect([refused.status, await refused.json()]).toEqual([
			403,
			{
				error: {
					code: 'forbidden',
					message: expect.stringMatching(
						/^for: these links could not approve "b": approvers of the agent guarded does not allow it\. Make the links "for" somebody else/,
					),
					data: { field: 'for', reason: 'approvers of the agent guarded does not allow it' },
				},
			},
		]);
	}
	expect(await readStatus(id)).toMatchObject({ toolCalls: [{ id: 'b' }] });
	const good = await link('boss');
	expect(await (await ask('', good)).text()).toContain('You decide as boss.');
	play('Paid one.');
	expect((await ask('', good, {})).status).toBe(200);
	const ofBob = { owner: 'office', madeBy: bob.actor };
	expect(asked.map(({ by }) => by)).toEqual([
		// The token speaks for the user of the session, who has asked.
		ada.actor,
		{ ...ofBob, user: 'boss', via: 'token', id: tokenId },
		{ ...ofBob, user: 'clerk', via: 'link', id: 'b' },
		// A link for somebody else acts as that person.
		{ ...ofBob, user: 'bob', via: 'link', id: 'b' },
		// The policy is called when the links are made, and at the click.
		{ ...ofBob, user: 'boss', via: 'link', id: 'b' },
		{ ...ofBob, user: 'boss', via: 'link', id: 'b' },
	]);
	await expect.poll(() => readStatus(id)).toMatchObject({ status: 'completed' });
});

test('refuses a link after the policy has changed, and names the policy and the reason', async () => {
	const keys = await createKeys();
	const { ada, bob, ask, readStatus } = keys;
	const { id } = await waiting(keys, call('a'));
	policy.allows = () => true;
	const make = async (by: string) => {
		const made = await ask(by, `/v1/sessions/${id}/links`, { callId: 'a', for: 'boss' });
		return (await made.json<{ approve: string }>()).approve;
	};
	const [ofBob, ofAda] = [await make(bob.key), await make(ada.key)];
	policy.allows = () => false;
	const click = async (link: string) => {
		const refused = await ask('', link, {});
		return [refused.status, await refused.text()];
	};
	expect(await click(ofBob)).toEqual([
		403,
		expect.stringContaining(
			'You may not decide about this call: approvers of the agent guarded does not allow it. It waits on for somebody else.',
		),
	]);
	expect(await click(ofAda)).toEqual([
		403,
		expect.stringContaining('does not allow it to somebody who counts as one of those who asked for the call.'),
	]);
	expect(await readStatus(id)).toMatchObject({ toolCalls: [{ id: 'a' }] });
});

test('an asker cannot decide with another key, a login, or any token or link, even one for someone else', async () => {
	const keys = await createKeys({ user: 'ada', role: 'admin' });
	const { ada, bob, rest, bindings, ask, readStatus } = keys;
	const { id } = await waiting(keys);
	const path = `/v1/sessions/${id}`;
	const approval = [{ id: 'a', approve: true }];
	const makeToken = async (by: string, whom?: string) => {
		const made = await ask(by, `${path}/token`, { scopes: ['approve'], for: whom });
		return (await made.json<{ token: string }>()).token;
	};
	const makeLink = (by: string, whom?: string) => ask(by, `${path}/links`, { callId: 'a', for: whom });
	const login = createRunlet({
		agents: [defineAgent({ name: 'guarded', description: 'Pays.', model: 'scripted' })],
		authenticate: () => ({ owner: 'office', user: 'ada', role: 'staff' }),
	});
	const tries: Readonly<Record<string, () => Response | Promise<Response>>> = {
		'a second key': () => ask(rest[0]?.key ?? '', `${path}/tool-results`, approval),
		'a login': () =>
			login.fetch(
				new Request(`https://product.example.com${path}/tool-results`, {
					method: 'POST',
					headers: { 'content-type': 'application/json' },
					body: JSON.stringify(approval),
				}),
				bindings,
			),
		'a token that she made for herself': async () => ask(await makeToken(ada.key), `${path}/tool-results`, approval),
		'a token that she made for somebody else': async () =>
			ask(await makeToken(ada.key, 'boss'), `${path}/tool-results`, approval),
		'a token that somebody else made for her': async () =>
			ask(await makeToken(bob.key, 'ada'), `${path}/tool-results`, approval),
		'a token for the user of the session': async () => ask(await makeToken(bob.key), `${path}/tool-results`, approval),
		'a link that she made for somebody else': () => makeLink(ada.key, 'boss'),
		'a link that somebody else made for her': () => makeLink(bob.key, 'ada'),
	};
	for (const [way, decide] of Object.entries(tries)) {
		asked.length = 0;
		expect((await decide()).status, way).toBe(403);
		// A policy that compares actors in its own way also finds the asker.
		expect(asked, way).toMatchObject([{ by: ada.actor, askers: [ada.actor] }]);
		expect(asked[0]?.by, way).toEqual(ada.actor);
	}
	expect(await readStatus(id)).toMatchObject({ toolCalls: [{ id: 'a' }] });
	play('Paid.');
	expect((await ask(await makeToken(bob.key, 'boss'), `${path}/tool-results`, approval)).status).toBe(200);
});

test('keys without a user count as one person, and a key with a user counts as another person', async () => {
	const keys = await createKeys({}, {});
	const { bob, rest, ask } = keys;
	const [one, two] = rest;
	play({ toolCalls: [call('a')] });
	const made = await ask(one?.key ?? '', '/v1/sessions', { agent: 'guarded', text: 'go' });
	const { id } = await made.json<Made>();
	const decide = (key = '') => ask(key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]);
	expect((await decide(one?.key)).status).toBe(403);
	expect((await decide(two?.key)).status).toBe(403);
	expect(asked.map(({ by }) => by)).toEqual([one?.actor, one?.actor]);
	play('Paid.');
	expect((await decide(bob.key)).status).toBe(200);
	expect(asked.at(-1)).toMatchObject({ by: bob.actor, askers: [one?.actor] });
});

test('a key without a user asks as the session’s user, and neither the key nor this user can approve', async () => {
	const keys = await createKeys({});
	const { ada, bob, rest, ask } = keys;
	const [server] = rest;
	play({ toolCalls: [call('a')] });
	const made = await ask(server?.key ?? '', '/v1/sessions', { agent: 'guarded', user: 'ada', text: 'go' });
	const { id } = await made.json<Made>();
	const decide = (key = '') => ask(key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]);
	expect((await decide(ada.key)).status).toBe(403);
	expect((await decide(server?.key)).status).toBe(403);
	expect(asked[0]).toMatchObject({ askers: [{ user: 'ada', via: 'key', id: server?.id, madeBy: server?.actor }] });
	expect(asked[0]?.by).toEqual(asked[0]?.askers[0]);
	play('Paid.');
	expect((await decide(bob.key)).status).toBe(200);
});

test('a customer can decide in no way and under no policy', async () => {
	const keys = await createKeys({ user: 'eve', role: 'customer' });
	const { rest, ask, readStatus } = keys;
	const [eve] = rest;
	policy.allows = (request) => asked.push(request) > 0;
	play({ toolCalls: [call('a')] });
	const made = await ask(eve?.key ?? '', '/v1/sessions', { agent: 'guarded', text: 'go' });
	const { id } = await made.json<Made>();
	play({ toolCalls: [{ id: 'w', name: 'guarded', input: { task: 'Pay.' } }] }, { toolCalls: [call('p', 7)] });
	const { id: parent } = await (await ask(eve?.key ?? '', '/v1/sessions', { agent: 'boss', text: 'go' })).json<Made>();
	expect(await readStatus(parent)).toMatchObject({ status: 'awaiting_user' });
	const model = play();
	const own = `/v1/sessions/${id}`;
	const above = `/v1/sessions/${parent}`;
	const approval = {
		type: 'tool-pay',
		toolCallId: 'a',
		state: 'approval-responded',
		approval: { id: 'a', approved: true },
	};
	const answered = { role: 'assistant', parts: [approval] };
	const said = { role: 'user', parts: [{ type: 'text', text: 'approve' }] };
	const tries: readonly (readonly [string, unknown])[] = [
		[`${own}/tool-results`, [{ id: 'a', approve: true }]],
		[`${own}/tool-results`, [{ id: 'a', approve: false }]],
		[`${own}/tool-results`, [{ id: 'a', approve: true, input: { amount: 1 } }]],
		[`${own}/links`, { callId: 'a' }],
		[`${own}/token`, { scopes: ['approve'] }],
		['/v1/ui/guarded', { id, messages: [answered] }],
		[`${above}/answer`, { text: 'approve' }],
		[`${above}/messages`, { text: 'approve' }],
		[`${above}/tool-results`, [{ id: 'p', approve: true }]],
		[`${above}/tool-results`, [{ id: 'w', approve: true }]],
		['/v1/ui/boss', { id: parent, messages: [said] }],
	];
	for (const [path, body] of tries) {
		const response = await ask(eve?.key ?? '', path, body);
		expect([path, response.status]).toEqual([path, 403]);
	}
	expect(asked).toEqual([]);
	expect(model.requests).toEqual([]);
	expect(await readStatus(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'a' }] });
	expect(await readStatus(parent)).toMatchObject({ status: 'awaiting_user' });
});

test('a customer who calls a tool over MCP cannot approve the call, whatever the policy', async () => {
	const { rest, bindings } = await createKeys({ user: 'eve', role: 'customer' }, { user: 'sam', role: 'staff' });
	policy.allows = () => true;
	const pay = async (key = '') => {
		const client = await connect('/mcp/guarded', {
			headers: { authorization: `Bearer ${key}` },
			fetch: async (request) => worker.request(request, {}, bindings),
			elicit: () => ({ action: 'accept', content: { approve: true } }),
		});
		return client.callTool({ name: 'pay', arguments: { amount: 9 } }).then(
			(result) => JSON.stringify(result),
			(error: unknown) => String(error),
		);
	};
	const [eve, sam] = rest;
	expect(await pay(eve?.key)).not.toContain('paid 9');
	expect(await pay(sam?.key)).toContain('paid 9');
});

test('a decision that an AI SDK page posts counts as a decision of the caller', async () => {
	const keys = await createKeys();
	const { ada, bob, ask, readStatus } = keys;
	const { id } = await waiting(keys);
	const approval = {
		type: 'tool-pay',
		toolCallId: 'a',
		state: 'approval-responded',
		approval: { id: 'a', approved: true },
	};
	const post = (key: string) =>
		ask(key, '/v1/ui/guarded', { id, messages: [{ role: 'assistant', parts: [approval] }] });
	expect((await post(ada.key)).status).toBe(403);
	play('Paid.');
	expect((await post(bob.key)).status).toBe(200);
	await expect.poll(() => readStatus(id)).toMatchObject({ status: 'completed' });
});

test('the policy of a child applies to decisions at its parent', async () => {
	const { ada, bob, ask } = await createKeys();
	play({ toolCalls: [{ id: 'w', name: 'guarded', input: { task: 'Pay.' } }] }, { toolCalls: [call('p', 7)] });
	const { id } = await (await ask(ada.key, '/v1/sessions', { agent: 'boss', text: 'go' })).json<Made>();
	const say = (key: string, path: string, text: string) => ask(key, `/v1/sessions/${id}/${path}`, { text });
	expect((await say(ada.key, 'answer', 'approve')).status).toBe(403);
	expect((await say(ada.key, 'messages', 'approve')).status).toBe(403);
	expect(asked.at(-1)).toMatchObject({ askers: [ada.actor], approve: true, tool: 'pay', input: { amount: 7 } });
	play('Paid it.', 'All is paid.');
	expect(await (await say(bob.key, 'answer', ' Approve ')).json()).toMatchObject({ text: 'All is paid.' });
	// The child calls its own policy again.
	expect(asked.map(({ by }) => by)).toEqual([ada.actor, ada.actor, bob.actor, bob.actor]);
});

test('every policy between a child and the session that shows its call must allow the decision', async () => {
	const { ada, bob, ask } = await createKeys();
	const give = (id: string, name: string) => ({ toolCalls: [{ id, name, input: { task: 'Pay.' } }] });
	play(give('m', 'middle'), give('g', 'guarded'), { toolCalls: [call('p', 7)] });
	const { id } = await (await ask(ada.key, '/v1/sessions', { agent: 'boss', text: 'go' })).json<Made>();
	const approve = (key: string) => ask(key, `/v1/sessions/${id}/answer`, { text: 'approve' });
	middlePolicy.allows = () => false;
	expect((await approve(bob.key)).status).toBe(403);
	middlePolicy.allows = () => true;
	expect((await approve(ada.key)).status).toBe(403);
	play('Paid it.', 'It is paid.', 'All is paid.');
	expect(await (await approve(bob.key)).json()).toMatchObject({ text: 'All is paid.' });
});

test('the person who starts a background child is an asker of the child’s calls and of calls after its report', async () => {
	const { ada, bob, ask, readStatus } = await createKeys();
	const give = (name: string, task: string) => ({ toolCalls: [{ id: 'g', name, input: { task } }] });
	const answer = (text: string) => {
		if (text === 'go') return give('send_off', 'Pay 7.');
		if (text === 'Pay 7.') return { toolCalls: [call('p', 7)] };
		if (text.includes('has finished its task')) return give('guarded', 'Pay 8.');
		return text === 'Pay 8.' ? { toolCalls: [call('q', 8)] } : 'Said.';
	};
	play(...Array.from({ length: 8 }, () => (request: Parameters<ScriptedFn>[0]) => answer(said(request))));
	const { id } = await (await ask(ada.key, '/v1/sessions', { agent: 'boss', text: 'go' })).json<Made>();
	const { children } = await (await ask(ada.key, `/v1/sessions/${id}`)).json<{ children: Made[] }>();
	const child = children[0]?.id ?? '';
	await expect.poll(() => readStatus(child)).toMatchObject({ status: 'awaiting_tools' });
	const pay = (key: string) => ask(key, `/v1/sessions/${child}/tool-results`, [{ id: 'p', approve: true }]);
	expect((await pay(ada.key)).status).toBe(403);
	expect(asked.at(-1)?.askers).toEqual([ada.actor]);
	expect((await pay(bob.key)).status).toBe(200);
	// The report begins a run, which starts another child.
	await expect.poll(() => readStatus(id)).toMatchObject({ status: 'awaiting_user' });
	await restart(id);
	const say = (key: string) => ask(key, `/v1/sessions/${id}/answer`, { text: 'approve' });
	expect((await say(ada.key)).status).toBe(403);
	expect(asked.at(-1)?.askers).toEqual([ada.actor]);
	expect((await say(bob.key)).status).toBe(200);
});

test('the sender of a webhook is an asker', async () => {
	play({ toolCalls: [call('a')] });
	const delivered = await deliver({ message: 'Pay me.' }, { agent: 'guarded' });
	const { sessionId } = await delivered.json<{ sessionId: string }>();
	await expect.poll(async () => (await readState(sessionId)).status).toBe('awaiting_tools');
	play('Paid.');
	expect((await request(`/v1/sessions/${sessionId}/tool-results`, [{ id: 'a', approve: true }])).status).toBe(200);
	expect(asked).toMatchObject([
		{
			by: { owner: 'local', via: 'key', id: 'local' },
			askers: [{ owner: 'local', via: 'webhook', id: 'guarded/hmac' }],
		},
	]);
});

test('a token that can only approve cannot read or send messages, and its approval covers one call', async () => {
	const keys = await createKeys();
	const { bob, ask, readStatus } = keys;
	const { id } = await waiting(keys);
	const made = await ask(bob.key, `/v1/sessions/${id}/token`, { scopes: ['approve'], for: 'boss' });
	const { token } = await made.json<{ token: string }>();
	play({ toolCalls: [call('b')] });
	expect((await ask(token, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }])).status).toBe(200);
	expect((await ask(token, `/v1/sessions/${id}/messages`, { text: 'And me?' })).status).toBe(403);
	expect((await ask(token, `/v1/sessions/${id}/messages`)).status).toBe(403);
	expect(await readStatus(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'b' }] });
});

test.each<[what: string, allows: (request: ApprovalRequest) => boolean]>([
	[
		'throws',
		() => {
			throw new Error('no policy');
		},
	],
	// @ts-expect-error A policy of another type allows nothing.
	['is asynchronous', async () => true],
])('a policy that %s allows nothing', async (_, allows) => {
	policy.allows = allows;
	const keys = await createKeys();
	const { id } = await waiting(keys);
	const decided = await keys.ask(keys.bob.key, `/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]);
	expect(decided.status).toBe(403);
	expect(await keys.readStatus(id)).toMatchObject({ toolCalls: [{ id: 'a' }] });
});

test('a person who calls a tool over MCP is the asker of the call', async () => {
	const keys = await createKeys();
	const { id } = await waiting(keys);
	const by: Actor = { ...keys.bob.actor, via: 'mcp' };
	const caller = { owner: 'office', by, role: 'staff' } as const;
	const outside = async (answer?: object) => {
		const given = { agent: 'guarded', tool: 'pay', input: { amount: 9 }, canAsk: true, ...answer };
		const begun = await readObject(id).callTool(caller, given);
		if (!begun.ok) throw new Error('The call was not begun.');
		const lines = (await new Response(begun.value).text()).trim().split('\n');
		return JSON.parse(lines.at(-1) ?? '');
	};
	const { waiting: name } = await outside();
	const end = await outside({ answer: { waiting: name, gives: 'permission' } });
	expect(end).toMatchObject({ type: 'failed', code: 'forbidden' });
	expect(asked.at(-1)).toMatchObject({ by, askers: [by], input: { amount: 9 } });
});
