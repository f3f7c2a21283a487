/** The holder of a session’s memories (docs/memory.md, "Whose it is"). */
import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { type Account, createRunlet } from '../../../src/cloudflare/runlet/index.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker, { plugins, runtime } from '../../worker.ts';
import { connect } from '../mcp/client.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';
import { createUser } from './people.ts';

const { agents } = runtime;
const question = 'Which answers do I like?';
const secret = 'Likes answers in Esperanto.';

type Ask = (
	path: string,
	body?: unknown,
	more?: { readonly headers?: object; readonly method?: string },
) => Promise<Response>;

const createAsk =
	(key: string, bindings: object): Ask =>
	async (path, body, { headers, method = body === undefined ? 'GET' : 'POST' } = {}) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method,
				headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);

/** Runs the model once. Returns the names of its memory tools, and whether the model got the secret. */
async function readTold(work: () => Promise<unknown>) {
	const { requests } = play('Yes.');
	await work();
	await expect.poll(() => requests.length).toBe(1);
	const [{ tools = [], messages = [], system = '' } = {}] = requests;
	const ofMemory = ['remember', 'recall', 'forget', 'memory'];
	return {
		tools: tools.map(({ name }) => name).filter((name) => ofMemory.includes(name)),
		knows: JSON.stringify([messages, system]).includes(secret),
	};
}

const nothing = { tools: [], knows: false };
const everything = { tools: ['remember', 'recall', 'forget', 'memory'], knows: true };

/** A key of an owner with memories, and a user of this owner, also with memories. */
async function createOwner() {
	const owner = `owner-${crypto.randomUUID()}`;
	const user = createUser();
	const { keys, bindings } = await createKeys({ server: { owner }, kim: { owner, user, role: 'customer' } });
	const ask = createAsk(keys.server, bindings);
	for (const query of ['', `?${new URLSearchParams({ user })}`])
		expect((await ask(`/v1/memories/style.md${query}`, { text: secret }, { method: 'PUT' })).status).toBe(201);
	return { owner, user, keys, bindings, ask };
}
type Owner = Awaited<ReturnType<typeof createOwner>>;

const said = [{ role: 'user', content: question }];
const page = { id: 'chat', messages: [{ role: 'user', parts: [{ type: 'text', text: question }] }] };

/** The ways in which a key creates a session without a user. */
const ways: Readonly<Record<string, (owner: Owner) => Promise<unknown>>> = {
	'POST /v1/sessions': ({ ask }) => ask('/v1/sessions', { agent: 'keeper', text: question }),
	'POST /v1/sessions with a user in its metadata': ({ ask, user }) =>
		ask('/v1/sessions', { agent: 'keeper', text: question, metadata: { user } }),
	'chat completions': ({ ask }) => ask('/v1/chat/completions', { model: 'keeper', messages: said }),
	'Anthropic’s messages': ({ ask }) => ask('/v1/messages', { model: 'keeper', messages: said }),
	'chat completions in a session that it names': ({ ask }) =>
		ask('/v1/chat/completions', { model: 'keeper', messages: said }, { headers: { 'runlet-session': 'mine' } }),
	'a page of the AI SDK': async ({ ask }) => (await ask('/v1/ui/keeper', page)).text(),
	MCP: async ({ keys, bindings }) => {
		const client = await connect('/mcp/keeper', {
			headers: { authorization: `Bearer ${keys.server}` },
			fetch: async (request) => worker.request(request, {}, bindings),
		});
		await client.callTool({ name: 'ask', arguments: { text: question } });
	},
	'a webhook': ({ owner }) =>
		deliver({ message: { text: question, owner, session: crypto.randomUUID() } }, { agent: 'keeper' }),
};

test.each(Object.entries(ways))(
	'a session without a user that begins by %s has no memory tools and recalls nothing',
	async (_, begin) => {
		const owner = await createOwner();
		expect(await readTold(() => begin(owner))).toEqual(nothing);
	},
);

/** The ways in which a session gets a user. */
const naming: Readonly<Record<string, (owner: Owner) => Promise<unknown>>> = {
	'POST /v1/sessions': ({ ask, user }) => ask('/v1/sessions', { agent: 'keeper', text: question, user }),
	'POST /v1/sessions by a key of theirs': ({ keys, bindings }) =>
		createAsk(keys.kim, bindings)('/v1/sessions', { agent: 'keeper', text: question }),
	'`user` of chat completions': ({ ask, user }) =>
		ask('/v1/chat/completions', { model: 'keeper', messages: said, user }),
	'`safety_identifier` of chat completions': ({ ask, user }) =>
		ask('/v1/chat/completions', { model: 'keeper', messages: said, safety_identifier: user }),
	'`metadata.user` of chat completions': ({ ask, user }) =>
		ask('/v1/chat/completions', { model: 'keeper', messages: said, metadata: { user } }),
	'`metadata.user_id` of Anthropic’s messages': ({ ask, user }) =>
		ask('/v1/messages', { model: 'keeper', messages: said, metadata: { user_id: user } }),
	'chat completions by a key of theirs': ({ keys, bindings }) =>
		createAsk(keys.kim, bindings)('/v1/chat/completions', { model: 'keeper', messages: said }),
	'a page by a key of theirs': async ({ keys, bindings }) =>
		(await createAsk(keys.kim, bindings)('/v1/ui/keeper', page)).text(),
	'MCP by a key of theirs': async ({ keys, bindings }) => {
		const client = await connect('/mcp/keeper', {
			headers: { authorization: `Bearer ${keys.kim}` },
			fetch: async (request) => worker.request(request, {}, bindings),
		});
		await client.callTool({ name: 'ask', arguments: { text: question } });
	},
	'a webhook': ({ owner, user }) =>
		deliver({ message: { text: question, owner, user, session: crypto.randomUUID() } }, { agent: 'keeper' }),
};

test.each(Object.entries(naming))(
	'a session that begins by %s has the memory of the user whom it names',
	async (_, begin) => {
		const owner = await createOwner();
		expect(await readTold(() => begin(owner))).toEqual(everything);
		const { bindings, keys } = owner;
		const ask = createAsk(keys.server, bindings);
		const other = { agent: 'keeper', text: question, user: createUser() };
		expect(await readTold(() => ask('/v1/sessions', other))).toEqual({ ...everything, knows: false });
	},
);

test('a customer’s chat completion never uses the memories of the user whom the body names', async () => {
	const { owner, user } = await createOwner();
	const { keys, bindings } = await createKeys({ lee: { owner, user: 'lee', role: 'customer' } });
	const ask = createAsk(keys.lee, bindings);
	for (const name of [{ user }, { safety_identifier: user }, { metadata: { user } }]) {
		const body = { model: 'keeper', messages: said, ...name };
		expect(await readTold(() => ask('/v1/chat/completions', body))).toEqual({ ...everything, knows: false });
	}
});

test('a fork uses the memory of its source, whoever makes the fork', async () => {
	const { owner, user, ask } = await createOwner();
	const { keys, bindings } = await createKeys({ sam: { owner, user: 'sam', role: 'staff' } });
	const sam = createAsk(keys.sam, bindings);
	for (const [given, told] of [
		[{ user }, everything],
		[{}, nothing],
	] as const) {
		const { id } = await (await ask('/v1/sessions', { agent: 'keeper', ...given })).json<{ id: string }>();
		const { id: copy } = await (await sam(`/v1/sessions/${id}/fork`, {})).json<{ id: string }>();
		expect(await readTold(() => sam(`/v1/sessions/${copy}/messages`, { text: question }))).toEqual(told);
	}
});

/** A product whose requests all come from one account. */
function createProduct(account: Account) {
	const keeper = agents.filter(({ name }) => name === 'keeper');
	const product = createRunlet({ agents: keeper, plugins, authenticate: () => account });
	const deployed = { ...env, LOCAL: 'false', API_KEYS: '', RATE_LIMITER: undefined };
	const fetch = async (request: Request) => product.fetch(request, deployed);
	const ask = (path: string, body: object, method = 'POST') =>
		fetch(
			new Request(`https://product.example.com${path}`, {
				method,
				headers: { 'content-type': 'application/json' },
				body: JSON.stringify(body),
			}),
		);
	return { ask, fetch };
}
type Product = ReturnType<typeof createProduct>;

test.each<[way: string, begin: (product: Product) => Promise<unknown>]>([
	['POST /v1/sessions', ({ ask }) => ask('/v1/sessions', { agent: 'keeper', text: question })],
	['chat completions', ({ ask }) => ask('/v1/chat/completions', { model: 'keeper', messages: said })],
	['a page of the AI SDK', async ({ ask }) => (await ask('/v1/ui/keeper', page)).text()],
	[
		'MCP',
		async ({ fetch }) => {
			const client = await connect('/mcp/keeper', { fetch });
			await client.callTool({ name: 'ask', arguments: { text: question } });
		},
	],
])(
	'by %s an account uses the memory of its user, or the memory of its owner if the account has no user',
	async (_, begin) => {
		const [owner, user] = [`owner-${crypto.randomUUID()}`, createUser()];
		const admin = createProduct({ owner, role: 'admin' });
		const put = async (query: string) =>
			(await admin.ask(`/v1/memories/style.md${query}`, { text: secret }, 'PUT')).status;
		expect(await put('')).toBe(201);
		expect(await readTold(() => begin(createProduct({ owner })))).toEqual(everything);
		const kim = createProduct({ owner, user });
		expect(await readTold(() => begin(kim))).toEqual({ ...everything, knows: false });
		expect(await put(`?${new URLSearchParams({ user })}`)).toBe(201);
		expect(await readTold(() => begin(kim))).toEqual(everything);
	},
);

test('a fork of a session without a user uses the owner’s memory only if its source does', async () => {
	const { owner, ask } = await createOwner();
	const person = createProduct({ owner, role: 'admin' });
	const body = { agent: 'keeper' };
	const create = async (made: Promise<Response>) => (await (await made).json<{ id: string }>()).id;
	const ofKey = await create(ask('/v1/sessions', body));
	const ofPerson = await create(person.ask('/v1/sessions', body));
	const say = (id: string) => () => ask(`/v1/sessions/${id}/messages`, { text: question });
	expect(await readTold(say(ofKey))).toEqual(nothing);
	expect(await readTold(say(ofPerson))).toEqual(everything);
	for (const fork of [ask, person.ask]) {
		expect(await readTold(say(await create(fork(`/v1/sessions/${ofKey}/fork`, {}))))).toEqual(nothing);
		expect(await readTold(say(await create(fork(`/v1/sessions/${ofPerson}/fork`, {}))))).toEqual(everything);
	}
});
