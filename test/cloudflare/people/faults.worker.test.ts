/** The readers of errors that only the operator can fix (docs/keys.md, "Roles"). */
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { RunletError } from '../../../src/core/base/errors.ts';
import { play } from '../../script.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';
import {
	ada,
	ask,
	begin,
	bindings,
	boss,
	type Credential,
	complete,
	create,
	keys,
	look,
	makeToken,
	openMcp,
	postPage,
	read,
	readResults,
	say,
} from './stage.ts';

beforeEach(begin);

/** A provider’s refusal of the key, as an adapter returns it. */
const refused = () =>
	new RunletError('auth', 'house (house/big): Incorrect API key provided: abc-house. Check HOUSE_KEY.', {
		model: 'house/big',
		provider: 'house',
		status: 401,
		kind: 'invalid_api_key',
		needs: 'HOUSE_KEY',
	});

const secret = /house|HOUSE_KEY|API key|invalid_api_key/i;
const runId = /run_[\w-]{36}/;

/** The visible parts of a run whose provider refuses the key, by each way to the app. */
const ways: Readonly<
	Record<string, (who: Credential) => Promise<{ readonly status?: number; readonly text: string }>>
> = {
	'the JSON of a new session': async (who) => toSeen(await ask(who, '/v1/sessions', { agent: 'till', text: 'Hello' })),
	'the events of a new session': async (who) => {
		const headers = { accept: 'text/event-stream' };
		const { text } = await toSeen(await ask(who, '/v1/sessions', { agent: 'till', text: 'Hello' }, { headers }));
		expect(text).toContain('event: error');
		return { text };
	},
	'the session and its events afterwards': async (who) => {
		const { id } = await create(who);
		await say(who, id, 'Hello');
		const state = await look(who, id);
		expect(state.error).toBeDefined();
		return { text: JSON.stringify(state) + (await (await ask(who, `/v1/sessions/${id}/events`)).text()) };
	},
	'Chat Completions': async (who) => toSeen(await complete(who, 'Hello')),
	'Chat Completions as a stream': async (who) => ({
		text: await (await complete(who, 'Hello', { stream: true })).text(),
	}),
	'a page of the AI SDK': async (who) => ({ text: await (await postPage(who, crypto.randomUUID(), 'Hello')).text() }),
	'an MCP client': async (who) => {
		const client = await openMcp(who, '/mcp/till');
		const asked = await client.callTool({ name: 'ask', arguments: { text: 'Hello' } });
		await client.close();
		return { text: JSON.stringify(asked) };
	},
};

async function toSeen(response: Response) {
	return { status: response.status, text: await response.text() };
}

describe('the error of a provider that refuses the Worker’s key', () => {
	beforeEach(() => void play(...Array.from({ length: 20 }, () => refused)));

	test.each(Object.entries(ways))('shows a customer only a neutral text and an id: %s', async (_, way) => {
		for (const who of [ada, keys.ofAda]) {
			const { status = 502, text } = await way(who);
			expect(text).not.toMatch(secret);
			expect(text).toMatch(/provider_error|cannot be used now/);
			expect(text).toMatch(runId);
			// Clients of chat completions retry after 5xx, which would start a second run.
			expect([502, 406]).toContain(status);
		}
	});

	test.each(Object.entries(ways))('shows an admin the provider’s error text: %s', async (_, way) => {
		for (const who of [boss, keys.ofBoss]) {
			const { status = 502, text } = await way(who);
			expect(text).toContain('Check HOUSE_KEY');
			expect([502, 406]).toContain(status);
		}
	});

	test('is hidden from the holder of a token, even if an admin made the token', async () => {
		const { id } = await create(boss, { user: 'ada' });
		const { token } = await makeToken(boss, id);
		const said = await (await say(token, id, 'Hello')).text();
		const state = await (await ask(token, `/v1/sessions/${id}`)).text();
		expect(said + state).not.toMatch(secret);
		expect(said).toContain('provider_error');
	});

	test('in a child reaches the parent’s model as a neutral text, because customers read the model’s replies', async () => {
		play({ toolCalls: [{ id: 'call_1', name: 'hand', input: { task: 'Go' } }] }, refused, 'Done.');
		const { id } = await create(ada, { text: 'Hello' });
		const [result] = await readResults(id);
		expect(JSON.stringify(result)).toContain('provider_error');
		expect(JSON.stringify([result, await (await ask(ada, `/v1/sessions/${id}/events`)).text()])).not.toMatch(secret);
	});

	test('is sent to a callback without the text of the provider', async () => {
		const url = `${inject('receiver')}/${crypto.randomUUID()}`;
		await fetch(url, { method: 'PUT', body: '[]' });
		expect((await deliver({ message: { text: 'Hello', callback: url } })).status).toBe(202);
		const received = async () => (await fetch(url)).text();
		await expect.poll(received).toContain('run.failed');
		expect(await received()).not.toMatch(secret);
		expect(await received()).toMatch(/provider_error.*run_/);
	});
});

test('shows a customer a provider’s error with a neutral text and a status that fits the error', async () => {
	const failures = [
		['invalid_request', 502, 'provider_error'],
		['unknown_model', 503, 'not_configured'],
		['not_configured', 503, 'not_configured'],
		['content_filtered', 422, 'content_filtered'],
		['context_overflow', 413, 'context_overflow'],
	] as const;
	for (const [code, status, shown] of failures) {
		play(
			() => new RunletError(code, 'house (house/big): no. Check HOUSE_KEY.', { provider: 'house', model: 'house/big' }),
		);
		const response = await ask(ada, '/v1/sessions', { agent: 'till', text: 'Hello' });
		const text = await response.text();
		expect([response.status, JSON.parse(text).error.code]).toEqual([status, shown]);
		expect(text).not.toMatch(secret);
	}
});

test('a customer cannot see the text of an error that the project’s own provider throws', async () => {
	for (const error of [
		new RunletError('auth', 'No HOUSE_KEY.'),
		Object.assign(new Error('No HOUSE_KEY.'), { status: 401 }),
	]) {
		play(() => error);
		const text = JSON.stringify(await read(ada, '/v1/sessions', { agent: 'till', text: 'Hello' }));
		expect(text).toContain('provider_error');
		expect(text).not.toMatch(secret);
	}
});

test('names an invalid variable only to an admin, and gives other callers the id of their request', async () => {
	const given = { given: { ...bindings, DAY_BUDGET_USD: 'lots' } };
	for (const who of [undefined, ada, keys.ofAda]) {
		const response = await ask(who, '/v1/agents', undefined, given);
		const text = await response.text();
		expect(response.status).toBe(503);
		expect(text).not.toContain('DAY_BUDGET');
		expect(text).toContain(response.headers.get('x-request-id') ?? 'none');
	}
	expect(await (await ask(keys.ofBoss, '/v1/agents', undefined, given)).text()).toContain('DAY_BUDGET_USD');
});
