import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../../src/cloudflare/auth/key.ts';
import {
	findTokenScope,
	hasRight,
	type Right,
	type Role,
	rights,
	roles,
	tokenScopes,
} from '../../../src/cloudflare/auth/rights.ts';
import { createDocument } from '../../../src/cloudflare/openapi/document.ts';
import { operations as byId } from '../../../src/cloudflare/openapi/operations.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import type { Access } from '../../../src/cloudflare/wire/endpoint.ts';
import type { Operation } from '../../../src/cloudflare/wire/operation.ts';
import { createKeys } from '../../credentials.ts';
import worker, { plugins, runtime } from '../../worker.ts';

interface NamedOperation extends Operation {
	readonly id: string;
}

/** What deletes the session comes last: the other operations need the session. */
const operations = Object.entries<Operation>(byId)
	.map(([id, operation]): NamedOperation => ({ id, ...operation }))
	.sort((a, b) => rank(a) - rank(b));

function rank({ id }: NamedOperation): number {
	return id === 'deleteSession' || id === 'deleteConversation' ? 1 : 0;
}

interface Sent {
	readonly method: string;
	readonly type?: string;
	readonly body?: string;
}

interface Actor {
	readonly role: Role;
	readonly scopes: readonly Scope[];
	readonly ask: (path: string, sent: Sent) => Response | Promise<Response>;
}

const owner = 'alice';

/** A product that reads its accounts from a header. */
const product = createApp(
	{ ...runtime, authenticate: (request) => JSON.parse(request.headers.get('x-account') ?? 'null') },
	plugins,
);

const toInit = ({ method, type, body }: Sent, headers: Readonly<Record<string, string>>): RequestInit => ({
	method: method.toUpperCase(),
	headers: { ...headers, ...(type !== undefined && { 'content-type': type }) },
	...(body !== undefined && { body }),
});

const actors: Record<string, Actor> = {};
let ask: (path: string, sent: Sent, credential?: string) => Response | Promise<Response>;

beforeAll(async () => {
	const { keys, bindings } = await createKeys({
		carl: { owner, user: 'carl', role: 'customer' },
		sam: { owner, user: 'sam', role: 'staff' },
		ann: { owner, user: 'ann', role: 'admin' },
		operator: { owner, scopes: ['admin'] },
		keeper: { owner, scopes: ['keys'] },
		both: { owner, user: 'both', role: 'customer', scopes: ['run', 'admin', 'keys'] },
	});
	ask = (path, sent, credential) =>
		worker.request(
			`https://runlet.example.com${path}`,
			toInit(sent, credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
			bindings,
		);
	const byKey = (name: keyof typeof keys) => (path: string, sent: Sent) => ask(path, sent, keys[name]);
	const byAccount = (account: object) => (path: string, sent: Sent) =>
		product.request(`https://product.example.com${path}`, toInit(sent, { 'x-account': JSON.stringify(account) }), {
			...env,
			LOCAL: 'false',
			API_KEYS: '',
			RATE_LIMITER: undefined,
		});
	for (const [name, role] of [
		['carl', 'customer'],
		['sam', 'staff'],
		['ann', 'admin'],
	] as const) {
		actors[`a key with the role ${role}`] = { role, scopes: ['run'], ask: byKey(name) };
		actors[`an account with the role ${role}`] = { role, scopes: ['run'], ask: byAccount({ owner, user: name, role }) };
	}
	actors['an account without a role'] = { role: 'customer', scopes: ['run'], ask: byAccount({ owner, user: 'eve' }) };
	const allScopes = { owner, user: 'joe', scopes: ['run', 'admin', 'keys'] };
	actors['an account with all scopes and the role customer'] = {
		role: 'customer',
		scopes: ['run', 'admin', 'keys'],
		ask: byAccount(allScopes),
	};
	actors['a key with the scope admin alone'] = { role: 'admin', scopes: ['admin'], ask: byKey('operator') };
	actors['a key with the scope keys alone'] = { role: 'admin', scopes: ['keys'], ask: byKey('keeper') };
	actors['a key with all scopes and the role customer'] = {
		role: 'customer',
		scopes: ['run', 'admin', 'keys'],
		ask: byKey('both'),
	};
});

async function createSession({ role, scopes, ask: send }: Actor): Promise<string> {
	const sent = { method: 'post', type: 'application/json', body: '{"agent":"scripted"}' };
	const creator = scopes.includes('run') ? send : actors['a key with the role admin']?.ask;
	const response = await creator?.('/v1/sessions', sent);
	expect(response?.status, role).toBe(201);
	return (await response?.json<{ id: string }>())?.id ?? '';
}

/** Bodies that need only the right that their operation needs. */
const plain: Readonly<Record<string, string>> = {
	createSession: '{"agent":"scripted"}',
	changeSession: '{"title":"A title"}',
	submitResults: '[{"id":"call_1","output":1}]',
};

function askOperation(
	{ id: name, method, path, json, examples = {}, body }: NamedOperation,
	session: string,
	send: Actor['ask'],
) {
	const place = path
		.replace(/:(id|chat)\b/g, session)
		.replace(':response', `resp_${session}1`)
		.replace(':conversation', `conv_${session}`)
		.replace(':message', '1')
		.replace(':agent', 'scripted')
		.replace(':tokenId', '0'.repeat(16))
		.replace(/:\w+/g, 'none');
	const media = json === undefined ? body : { 'application/json': { example: Object.values(examples)[0] } };
	const [type, { example } = {}] = Object.entries(media ?? {})[0] ?? [];
	const text = (typeof example === 'string' ? example : JSON.stringify(example))?.replaceAll('chat-1', session);
	return send(place, { method, type, body: plain[name] ?? text });
}

const isRight = (access: Access): access is Right => access in rights;

const isOfAnyCaller = (access: Access): access is 'anybody' | 'sender' | 'caller' =>
	access === 'anybody' || access === 'sender' || access === 'caller';

function isOpenTo({ access, adminToo }: Operation, { role, scopes }: Omit<Actor, 'ask'>): boolean {
	if (isOfAnyCaller(access) || (adminToo && scopes.includes('admin'))) return true;
	if (access === 'admin' || access === 'keys') return scopes.includes(access);
	const needsRun = access !== 'seeAgents' && access !== 'seeSkills';
	return hasRight(role, access) && (!needsRun || scopes.includes('run'));
}

function isOpenToToken({ access }: Operation, scope: (typeof tokenScopes)[number]): boolean {
	if (isOfAnyCaller(access)) return true;
	return access !== 'admin' && access !== 'keys' && findTokenScope(access) === scope;
}

describe('every operation, according to the table of rights,', () => {
	test('refuses callers without a credential, unless the operation is public', async () => {
		const session = await createSession(actors['a key with the role admin'] ?? expect.unreachable());
		for (const operation of operations) {
			const { status, body } = await askOperation(operation, session, (path, sent) => ask(path, sent));
			await body?.cancel();
			const isOpen = operation.access === 'anybody' || operation.access === 'sender';
			expect(status === 401, `${operation.id}: ${status}`).toBe(!isOpen);
		}
	});

	test.each([
		...roles.flatMap((role) => [`a key with the role ${role}`, `an account with the role ${role}`]),
		'an account without a role',
		'an account with all scopes and the role customer',
		'a key with the scope admin alone',
		'a key with the scope keys alone',
		'a key with all scopes and the role customer',
	])('is allowed or refused to %s', async (name) => {
		const actor = actors[name] ?? expect.unreachable();
		const session = await createSession(actor);
		for (const operation of operations) {
			const { id, access } = operation;
			const response = await askOperation(operation, session, actor.ask);
			const where = `${id} (${access}): ${response.status}`;
			if (operation.access !== 'sender') expect(response.status, where).not.toBe(401);
			expect(response.status !== 403, where).toBe(isOpenTo(operation, actor));
			if (response.status !== 403) {
				await response.body?.cancel();
				continue;
			}
			// The refusal names the missing scope or role.
			const text = await response.text();
			if (isRight(access) && actor.scopes.includes('run')) expect(text, where).toContain(rights[access].role);
			else expect(text, where).toContain('scope');
		}
	});

	test.each(tokenScopes)('is allowed or refused to a session token with the scope %s', async (scope) => {
		const ann = actors['a key with the role admin'] ?? expect.unreachable();
		const session = await createSession(ann);
		const body = JSON.stringify({ scopes: [scope] });
		const made = await ann.ask(`/v1/sessions/${session}/token`, { method: 'post', type: 'application/json', body });
		const { token } = await made.json<{ token: string }>();
		for (const operation of operations) {
			const response = await askOperation(operation, session, (path, sent) => ask(path, sent, token));
			await response.body?.cancel();
			const where = `${operation.id} (${operation.access}): ${response.status}`;
			if (operation.access !== 'sender') expect(response.status, where).not.toBe(401);
			expect(response.status !== 403, where).toBe(isOpenToToken(operation, scope));
		}
	});
});

describe('the fields of a new session', () => {
	const create = (name: string, more: object) =>
		actors[name]?.ask('/v1/sessions', {
			method: 'post',
			type: 'application/json',
			body: JSON.stringify({ agent: 'thrifty', ...more }),
		});

	test.each([
		['user', { user: 'somebody else' }, 'staff'],
		['for', { for: 'somebody else' }, 'staff'],
		['metadata', { metadata: { plan: 'gold' } }, 'staff'],
		['budget', { budget: { tokens: 1_001 } }, 'admin'],
		['budget', { budget: { usd: 1 } }, 'admin'],
	] as const)('%s in %o needs the role %s, and the refusal names the field', async (field, more, role) => {
		for (const own of roles)
			for (const who of ['a key', 'an account']) {
				const response = await create(`${who} with the role ${own}`, more);
				if (roles.indexOf(own) >= roles.indexOf(role)) {
					expect(response?.status, `${who} with the role ${own}`).toBe(201);
					continue;
				}
				expect(response?.status, `${who} with the role ${own}`).toBe(403);
				expect(await response?.json()).toMatchObject({ error: { code: 'forbidden', data: { field, role } } });
			}
	});

	test('let a customer name themselves and set a budget up to the agent’s budget', async () => {
		for (const [who, more] of [
			['a key with the role customer', { user: 'carl' }],
			['an account with the role customer', { user: 'carl' }],
			['a key with the role customer', { budget: { tokens: 10 } }],
			['a key with the role customer', { budget: { tokens: 1_000 } }],
		] as const) {
			const response = await create(who, more);
			expect([who, response?.status, await response?.json()]).toMatchObject([who, 201, { user: 'carl' }]);
		}
	});

	test('can be changed later: the title by staff, and the budget only by an admin', async () => {
		const session = await createSession(actors['a key with the role admin'] ?? expect.unreachable());
		const change = (name: string, body: object) =>
			actors[name]?.ask(`/v1/sessions/${session}`, {
				method: 'patch',
				type: 'application/json',
				body: JSON.stringify(body),
			});
		for (const who of ['a key', 'an account']) {
			expect((await change(`${who} with the role staff`, { title: 'A title' }))?.status).toBe(200);
			const refused = await change(`${who} with the role staff`, { title: 'Another', budget: { tokens: 9 } });
			expect(refused?.status).toBe(403);
			expect((await change(`${who} with the role admin`, { budget: { tokens: 9 } }))?.status).toBe(200);
		}
	});
});

test('the document says for each operation which role it needs, and whether a session token is allowed', () => {
	const document = createDocument();
	for (const { id, access, path, method } of operations) {
		const spec = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method];
		const role = isRight(access) ? rights[access].role : 'customer';
		expect(spec?.description?.includes(`Needs the role \`${role}\`.`) ?? false, id).toBe(role !== 'customer');
		const hasToken = access === 'caller' || (isRight(access) && findTokenScope(access) !== undefined);
		expect(
			spec?.security.some((one) => 'sessionToken' in one),
			id,
		).toBe(hasToken);
	}
});
