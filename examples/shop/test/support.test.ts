/** The tools of `support`, on a real D1. Only the model is scripted. */
import { Miniflare } from 'miniflare';
import type { Actor } from 'runlet';
import { callTool, createTestSession } from 'runlet/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digest } from '../src/agents/digest.ts';
import { researcher } from '../src/agents/researcher.ts';
import { support } from '../src/agents/support.ts';
import { owner } from '../src/login.ts';

let miniflare: Miniflare;
let DB: D1Database;

beforeAll(async () => {
	miniflare = new Miniflare({ modules: true, script: 'export default {};', d1Databases: ['DB'], cf: false });
	DB = await miniflare.getD1Database('DB');
});
afterAll(() => miniflare.dispose());

/** Has the agent make one call in a session of that user. Returns the result of the call. */
async function call(user: string | undefined, name: string, input: object) {
	const session = createTestSession(support, { script: [callTool(name, input), 'Done.'], env: { DB }, owner, user });
	const { steps } = await session.send('Please.');
	return steps[0]?.toolResults[0];
}

/** Has the agent ask for a refund, and allows it. Returns the result of the call. */
async function refund(user: string, input: { readonly id: string; readonly amount: number }) {
	const session = createTestSession(support, {
		script: [callTool('refund', input), 'Done.'],
		env: { DB },
		owner,
		user,
	});
	const asked = await session.send('I want my money back.');
	const [waiting] = asked.metadata.manualToolCalls ?? [];
	expect([asked.status, waiting?.kind]).toEqual(['awaiting_tools', 'approval']);
	await session.submit([{ id: waiting?.id ?? '', approve: true }], { user: 'kim', role: 'staff' });
	return session.events.findLast((event) => event.type === 'tool_result');
}

describe('the tools of support', () => {
	test('find_order gives a customer their own order', async () => {
		expect(await call('ada', 'find_order', { id: 'A-1001' })).toMatchObject({
			isError: false,
			output: { id: 'A-1001', item: 'Darjeeling, 250 g', status: 'sent', price: '18.00 EUR' },
		});
	});

	test('find_order answers for an order of another customer as for one that is not there', async () => {
		const [foreign, missing] = [
			await call('ben', 'find_order', { id: 'A-1001' }),
			await call('ben', 'find_order', { id: 'A-9999' }),
		];
		expect(foreign).toMatchObject({ isError: true, output: 'The customer has no order A-1001.' });
		expect(missing).toMatchObject({ isError: true, output: 'The customer has no order A-9999.' });
	});

	test('the model cannot name the customer', async () => {
		const found = await call('ben', 'find_order', { id: 'A-1001', user: 'ada', customer: 'ada' });
		expect(found).toMatchObject({ isError: true, output: 'The customer has no order A-1001.' });
	});

	test('list_orders lists the orders of the customer and of nobody else', async () => {
		expect(await call('ben', 'list_orders', {})).toMatchObject({ output: [{ id: 'B-2001' }] });
		expect(await call('eve', 'list_orders', {})).toMatchObject({ output: [] });
	});

	test('no tool works in a session that belongs to no customer', async () => {
		expect(await call(undefined, 'list_orders', {})).toMatchObject({
			isError: true,
			output: 'This conversation belongs to no customer.',
		});
	});

	test('a refund waits for an approval, and an order is refunded once', async () => {
		expect(await refund('ada', { id: 'A-1001', amount: 18 })).toMatchObject({
			isError: false,
			output: { id: 'A-1001', refunded: '18.00 EUR' },
		});
		expect(await refund('ada', { id: 'A-1001', amount: 18 })).toMatchObject({
			isError: true,
			output: 'A-1001 was refunded already.',
		});
	});

	test('a refund is no larger than the price, and of no order of another customer', async () => {
		expect(await refund('ada', { id: 'A-1002', amount: 12.51 })).toMatchObject({
			isError: true,
			output: 'A-1002 has cost 12.50 EUR only.',
		});
		expect(await refund('ben', { id: 'A-1002', amount: 1 })).toMatchObject({
			isError: true,
			output: 'The customer has no order A-1002.',
		});
	});
});

test('researcher sees the orders of the customer that it works for', async () => {
	const session = createTestSession(researcher, {
		script: [callTool('list_orders', {}), 'Dear Ben'],
		env: { DB },
		owner,
		user: 'ben',
	});
	const { steps } = await session.send('The tea of B-2001 came open.');
	expect(steps[0]?.toolResults[0]?.output).toMatchObject([{ id: 'B-2001' }]);
});

describe('who may decide about a refund', () => {
	const ada: Actor = { owner, user: 'ada', via: 'account', id: 'ada' };
	const token: Actor = { owner, user: 'ada', via: 'token', id: '1f' };
	const kim: Actor = { owner, user: 'kim', via: 'account', id: 'kim' };
	const mayDecide = (by: Actor, asker: Actor, approve = true) =>
		support.approvers?.({
			by,
			askers: [asker],
			approve,
			tool: 'refund',
			input: { id: 'A-1001', amount: 18 },
			sessionId: 'test',
			owner,
			user: 'ada',
			metadata: {},
		});

	test('a colleague allows it, and no customer allows their own, by whatever way they come', () => {
		expect(mayDecide(kim, token)).toBe(true);
		expect(mayDecide(ada, token)).toBe(false);
		expect(mayDecide({ ...kim, via: 'link', id: 'l1' }, kim)).toBe(false);
	});

	test('everybody may deny it', () => {
		expect(mayDecide(ada, token, false)).toBe(true);
	});
});

describe('an event of Stripe', () => {
	const map = async (type: string, metadata: object) => {
		const mapping = support.webhooks?.stripe;
		if (typeof mapping !== 'function') throw new Error('support takes no events of Stripe');
		return mapping({
			source: 'stripe',
			type,
			id: 'evt_1',
			headers: new Headers(),
			payload: { data: { object: { metadata } } },
		});
	};

	test('becomes a message in a session of the customer whom the shop has named in the payment', async () => {
		expect(await map('payment_intent.payment_failed', { customer: 'ada', order: 'A-1003' })).toMatchObject({
			owner: 'shop',
			user: 'ada',
			text: expect.stringContaining('A-1003'),
		});
	});

	test('of another kind, or about nobody whom the shop knows, is left', async () => {
		expect(await map('invoice.paid', { customer: 'ada', order: 'A-1003' })).toBeUndefined();
		expect(await map('payment_intent.payment_failed', { customer: 'eve', order: 'A-1003' })).toBeUndefined();
	});
});

test('the digest lists the conversations of customers, and is skipped where there were none', async () => {
	const [schedule] = digest.schedules ?? [];
	const at = new Date('2026-11-24T06:00:00Z');
	const about = { at, name: 'each-morning', owner, env: { DB } };
	const activeAt = new Date('2026-11-23T15:00:00Z');
	const session = { id: 'a', agent: 'support', title: 'A late parcel', createdAt: activeAt, activeAt };
	expect(schedule?.owner).toBe('shop');
	expect(await schedule?.fn?.({ ...about, listSessions: async () => [session] })).toContain('A late parcel');
	expect(
		await schedule?.fn?.({ ...about, listSessions: async () => [{ ...session, agent: 'digest' }] }),
	).toBeUndefined();
});
