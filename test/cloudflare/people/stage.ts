/** People of two shops, with all ways to reach the app. Only the model is fake. */
import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { expect } from 'vitest';
import type { Account, Authenticate } from '../../../src/cloudflare/auth/identity.ts';
import { hashKey, type KeyRecord, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import type { Message } from '../../../src/core/chat/index.ts';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import { querySession } from '../../client.ts';
import { setClock } from '../../clock.ts';
import { play } from '../../script.ts';
import { plugins, runtime } from '../../worker.ts';
import { type ConnectOptions, connect } from '../mcp/client.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';
import { decides, fourEyes, happened } from './agents.ts';

/** The credential of a request: an account’s cookie, a key or a token. */
export type Credential = Account | string;

const authenticate: Authenticate = (request) => {
	const [, login] = /\blogin=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
	return login === undefined ? undefined : JSON.parse(decodeURIComponent(login));
};

/** The app with accounts. Its sessions run in the Worker under test. */
const app = createApp({ ...runtime, authenticate }, plugins);

export const ada: Account = { owner: 'shop', user: 'ada' };
export const ben: Account = { owner: 'shop', user: 'ben' };
export const kim: Account = { owner: 'shop', user: 'kim', role: 'staff' };
export const lea: Account = { owner: 'shop', user: 'lea', role: 'staff' };
export const boss: Account = { owner: 'shop', user: 'boss', role: 'admin' };
/** A user with the same name in another shop. */
export const otherAda: Account = { owner: 'rival', user: 'ada' };
export const otherBoss: Account = { owner: 'rival', user: 'boss', role: 'admin' };

const wanted = {
	shop: { owner: 'shop' },
	shop2: { owner: 'shop' },
	ofAda: { owner: 'shop', user: 'ada', role: 'customer' },
	ofBen: { owner: 'shop', user: 'ben', role: 'customer' },
	ofKim: { owner: 'shop', user: 'kim', role: 'staff' },
	ofBoss: { owner: 'shop', user: 'boss', role: 'admin' },
	desk: { owner: 'shop', role: 'staff' },
	rival: { owner: 'rival' },
	rivalOfAda: { owner: 'rival', user: 'ada', role: 'customer' },
	root: { owner: 'root', scopes: ['admin'] },
	maker: { owner: 'root', scopes: ['keys'] },
} as const satisfies Record<string, Partial<KeyRecord>>;

export type KeyName = keyof typeof wanted;
export const keys = {} as Record<KeyName, string>;
export const keyIds = {} as Record<KeyName, string>;
const records: KeyRecord[] = [];
for (const [name, about] of Object.entries(wanted)) {
	const { key, id } = makeKey();
	keys[name as KeyName] = key;
	keyIds[name as KeyName] = id;
	records.push({ id, scopes: ['run'], hash: await hashKey(key), ...about });
}

export const bindings = { ...env, LOCAL: 'false', RATE_LIMITER: undefined, API_KEYS: JSON.stringify(records) };

export interface Asked {
	readonly method?: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly raw?: BodyInit;
	readonly given?: object;
}

/** Sends a request to the app with a credential, or without one. */
export async function ask(
	who: Credential | undefined,
	path: string,
	body?: unknown,
	{ method = body === undefined ? 'GET' : 'POST', headers = {}, raw, given = bindings }: Asked = {},
): Promise<Response> {
	const credential: Record<string, string> =
		who === undefined
			? {}
			: typeof who === 'string'
				? { authorization: `Bearer ${who}` }
				: { cookie: `theme=dark; login=${encodeURIComponent(JSON.stringify(who))}` };
	const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
	const init = {
		method,
		headers: { ...json, ...credential, ...headers },
		body: body === undefined ? raw : JSON.stringify(body),
	};
	return app.request(path.replace(/^https:\/\/[^/]+/, ''), init, given);
}

export async function read<T = Answer>(...given: Parameters<typeof ask>): Promise<T> {
	return (await ask(...given)).json<T>();
}

export interface Answer {
	readonly id: string;
	readonly token: string;
	readonly tokenId: string;
	readonly status: string;
	readonly user?: string;
	readonly text?: string;
	readonly owner?: string;
	readonly question?: { readonly callId: string; readonly question: string; readonly options?: Options };
	readonly toolCalls?: readonly WaitingCall[];
	readonly children?: readonly { readonly id: string }[];
	readonly budget: { readonly limit: object };
	readonly error?: { readonly code: string; readonly message: string; readonly data?: { readonly field?: string } };
	readonly [more: string]: unknown;
}

interface Options {
	readonly call?: { readonly id: string; readonly name: string; readonly input: Readonly<Record<string, unknown>> };
	readonly kind?: string;
}

export interface WaitingCall {
	readonly id: string;
	readonly name: string;
	readonly kind: string;
	readonly input: unknown;
}

let calls = 0;

const toText = ({ content }: Message): string => (typeof content === 'string' ? content : JSON.stringify(content));

/**
 * A model that follows the newest message: each line `call NAME JSON` is a call of its turn, and the text after `say` is
 * its answer.
 */
const obey: ScriptedFn = ({ messages }) => {
	const at = messages.findLastIndex(({ role }) => role === 'user');
	const asked = messages[at];
	const lines = asked === undefined ? [] : toText(asked).split('\n');
	const wantedCalls = lines.flatMap((line) => {
		const [, name, input] = /^call (\S+) (\{.*\})$/.exec(line) ?? [];
		return name === undefined || input === undefined ? [] : [{ name, input: JSON.parse(input) }];
	});
	const done = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
	const next = wantedCalls[done];
	if (next !== undefined) return { toolCalls: [{ id: `call_${calls++}`, ...next }] };
	const said = lines.flatMap((line) => (line.startsWith('say ') ? [line.slice(4).replaceAll('\\n', '\n')] : []));
	return said.length > 0 ? said.join('\n') : 'Done.';
};

let provider = play();
export const requests = () => provider.requests;

/** Removes the state of earlier tests. Each file calls it before each test. */
export function begin(): void {
	for (const list of Object.values(happened)) list.length = 0;
	decides.by = fourEyes;
	setClock();
	provider = play(...Array.from({ length: 3_000 }, () => obey));
}

/** The message that makes the model call a tool. */
export const call = (name: string, input: object = {}): string => `call ${name} ${JSON.stringify(input)}`;
export const payment = (amount = 80, note?: string): string => call('disburse', { amount, ...(note && { note }) });

/** Creates a session, with or without a first message, and waits for the end of its run. */
export async function create(
	who: Credential,
	{ agent = 'till', ...more }: Record<string, unknown> = {},
	headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
	const response = await ask(who, '/v1/sessions', { agent, ...more }, { headers });
	const text = await response.text();
	expect(response.status, text).toBe(201);
	return JSON.parse(text);
}

export const say = (who: Credential, id: string, text: string, more: object = {}) =>
	ask(who, `/v1/sessions/${id}/messages`, { text, ...more });
export const answer = (who: Credential, id: string, text: string, more: object = {}) =>
	ask(who, `/v1/sessions/${id}/answer`, { text, ...more });
export const decide = (who: Credential, id: string, callId: string, more: object = { approve: true }) =>
	ask(who, `/v1/sessions/${id}/tool-results`, [{ id: callId, ...more }]);
export const look = (who: Credential, id: string) => read(who, `/v1/sessions/${id}`);

/** Decides the only waiting call of a session or its child. */
export async function approve(who: Credential, id: string, more: object = { approve: true }): Promise<Response> {
	return decide(who, id, await findOpen(id), more);
}

export async function findOpen(id: string): Promise<string> {
	const { toolCalls = [], question } = await look(keys.root, id);
	return toolCalls[0]?.id ?? question?.options?.call?.id ?? question?.callId ?? '';
}

export async function waitFor(id: string, status: string): Promise<Answer> {
	await expect.poll(async () => (await look(keys.root, id)).status).toBe(status);
	return look(keys.root, id);
}

export const makeToken = async (who: Credential, id: string, more: object = {}): Promise<Answer> =>
	read(who, `/v1/sessions/${id}/token`, more);

/** Makes the links of the waiting call. */
export async function makeLinks(who: Credential, id: string, more: object = {}) {
	const { toolCalls = [], question } = await look(keys.root, id);
	const callId = toolCalls[0]?.id ?? question?.callId;
	return ask(who, `/v1/sessions/${id}/links`, { callId, ...more });
}
export async function findLink(who: Credential, id: string, more: object = {}): Promise<string> {
	return (await (await makeLinks(who, id, more)).json<{ approve: string }>()).approve;
}
/** Makes a link and opens it. Returns the refusal if no link is made. */
export async function clickNew(who: Credential, id: string, more: object = {}): Promise<Response> {
	const made = await makeLinks(who, id, more);
	return made.ok ? click((await made.json<{ approve: string }>()).approve) : made;
}
export const click = (link: string) => ask(undefined, link, undefined, { method: 'POST' });

export const readMessages = async (id: string) =>
	(await read<{ messages: readonly ShownMessage[] }>(keys.root, `/v1/sessions/${id}/messages`)).messages;
interface ShownMessage {
	readonly role: string;
	readonly content: unknown;
	readonly isError?: boolean;
}

export const readResults = async (id: string) =>
	(await readMessages(id)).filter(({ role }) => role === 'tool').map(({ content }) => content);

export const readObject = (id: string) => env.SESSIONS.get(env.SESSIONS.idFromString(id));
const findDirectory = (owner: string) => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner));

/** Runs the schedules of an owner that are due at the given time. */
export async function passTo(owner: string, moment: string): Promise<void> {
	setClock(moment);
	await runDurableObjectAlarm(findDirectory(owner));
}

export function readRows(id: string, query: string): Promise<Record<string, unknown>[]> {
	return querySession(id, query);
}

export interface Exported {
	readonly session: Record<string, unknown>;
	readonly runs: Record<string, unknown>[];
	messages: { stored?: Record<string, unknown>; [more: string]: unknown }[];
	readonly [list: string]: unknown;
}

export const exportOf = (who: Credential, id: string): Promise<Exported> => read(who, `/v1/sessions/${id}/export`);
export const importAs = (who: Credential, document: object, query = '') =>
	ask(who, `/v1/sessions/import${query}`, document);

export const putMemory = (who: Credential, user: string, path: string, text: string) =>
	ask(who, `/v1/memories/${path}?${new URLSearchParams({ user })}`, { text }, { method: 'PUT' });
export async function readMemories(who: Credential, user?: string): Promise<Record<string, string>> {
	const query = user === undefined ? '' : `?${new URLSearchParams({ user })}`;
	const { memories } = await read<{ memories: { path: string; text: string }[] }>(who, `/v1/memories${query}`);
	return Object.fromEntries(memories.map(({ path, text }) => [path, text]));
}

export function openMcp(who: Credential, path: string, more: Omit<ConnectOptions, 'headers' | 'fetch'> = {}) {
	const headers: Record<string, string> =
		typeof who === 'string'
			? { authorization: `Bearer ${who}` }
			: { cookie: `login=${encodeURIComponent(JSON.stringify(who))}` };
	return connect(path, { headers, fetch: async (request) => app.fetch(request, bindings), ...more });
}

/** Posts a message like a page of the AI SDK. */
export async function postPage(who: Credential, id: string, text: string, agent = 'till'): Promise<Response> {
	const messages = [{ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }];
	const response = await ask(who, `/v1/ui/${agent}`, { id, messages });
	const body = await response.text();
	return new Response(body, response);
}

/** Runs an agent like a client of AG-UI. */
export async function runAgui(who: Credential, threadId: string, more: object, agent = 'till'): Promise<Response> {
	const body = { threadId, runId: crypto.randomUUID(), messages: [], ...more };
	const response = await ask(who, `/v1/ag-ui/${agent}`, body);
	return new Response(await response.text(), response);
}

export const decideOnPage = (who: Credential, id: string, callId: string, approved = true, agent = 'till') =>
	ask(who, `/v1/ui/${agent}`, {
		id,
		messages: [
			{
				role: 'assistant',
				parts: [
					{
						type: 'tool-disburse',
						toolCallId: callId,
						state: 'approval-responded',
						approval: { id: callId, approved },
					},
				],
			},
		],
	});

export const complete = (
	who: Credential,
	text: string,
	{
		agent = 'till',
		session,
		path = '/v1/chat/completions',
		...more
	}: { readonly agent?: string; readonly session?: string; readonly path?: string; [field: string]: unknown } = {},
) =>
	ask(
		who,
		path,
		{ model: agent, messages: [{ role: 'user', content: text }], ...more },
		{ headers: session === undefined ? {} : { 'runlet-session': session } },
	);
export const sessionOf = (response: Response): string => response.headers.get('runlet-session') ?? '';

/** Delivers an event that is mapped to this message. Returns the session. */
export async function deliverTo(agent: string, message: object): Promise<string> {
	const body = JSON.stringify({ message });
	const { secret, headers: sign } = senders.hmac;
	const signed = sign(body, { id: crypto.randomUUID(), at: Math.floor(Date.now() / 1_000), secrets: [secret] });
	const response = await app.request(
		`/v1/webhooks/${agent}/hmac`,
		{ method: 'POST', body, headers: { ...signed } },
		bindings,
	);
	expect(response.status).toBeLessThan(300);
	return (await response.json<{ sessionId: string }>()).sessionId;
}

export const findChild = async (id: string): Promise<string> => (await look(keys.root, id)).children?.at(-1)?.id ?? '';
