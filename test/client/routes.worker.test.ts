import { SELF } from 'cloudflare:test';
import { expect, expectTypeOf, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { play } from '../script.ts';

const client = createClient({
	baseUrl: 'http://localhost',
	fetch: (input, init) => SELF.fetch(new Request(input, init)),
});
const sessions = client.v1.sessions;

test('a typed client creates a session, talks to it, and reads its history', async () => {
	play('for the client', 'and again');
	const created = await sessions.$post({ json: { agent: 'scripted', text: 'hello' } });
	if (!created.ok) throw new Error((await created.json()).error.message);
	const session = await created.json();
	expect(session).toMatchObject({ status: 'completed', text: 'for the client' });
	const { id } = session;
	const answered = await sessions[':id'].messages.$post({
		param: { id },
		json: { text: 'and?' },
		header: { 'idempotency-key': 'one' },
	});
	expect(await answered.json()).toMatchObject({ text: 'and again' });
	const page = await sessions[':id'].messages.$get({ param: { id }, query: { limit: '2' } });
	if (!page.ok) throw new Error();
	const { messages, cursor } = await page.json();
	expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
	expect(cursor).toBeDefined();
	expect((await sessions[':id'].$delete({ param: { id } })).status).toBe(204);
});

test('an error response has the TypeScript type of an error', async () => {
	const response = await sessions[':id'].$get({ param: { id: 'none' } });
	expect(response.status).toBe(404);
	if (response.ok) throw new Error();
	const body = await response.json();
	expectTypeOf(body.error.code).toEqualTypeOf<string>();
	expect(body.error.code).toBe('not_found');
});

test('requests and answers have the TypeScript types of their schemas', () => {
	type Args<F> = F extends (...args: infer A) => unknown ? A[0] : never;
	type Answer<F> = F extends (...args: never[]) => Promise<infer R> ? R : never;
	type Create = Args<typeof sessions.$post>['json'];
	expectTypeOf<Create['agent']>().toEqualTypeOf<string>();
	expectTypeOf<NonNullable<Create['budget']>['tokens']>().toEqualTypeOf<number | undefined>();
	expectTypeOf<NonNullable<Create['parts']>[number]['kind']>().toEqualTypeOf<'text' | 'image' | 'audio' | 'file'>();
	// @ts-expect-error a session needs an agent
	const lacking: Create = { text: 'hello' };
	expect(lacking).toBeDefined();

	type State = Extract<Answer<(typeof sessions)[':id']['$get']>, { status: 200 }>;
	type Session = Awaited<ReturnType<State['json']>>;
	expectTypeOf<Session['status']>().toEqualTypeOf<
		'idle' | 'running' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error'
	>();
	expectTypeOf<Session['budget']['left']['usd']>().toEqualTypeOf<number | undefined>();
});
