/** Messages by foreign protocols: OpenAI, the AI SDK and MCP. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import { seen } from '../agents.ts';
import { pickCaller, pickPerson, pickTarget } from '../choose.ts';
import { look, settle } from '../look.ts';
import { observe } from '../observe.ts';
import { toName, users } from '../persons.ts';
import {
	type Caller,
	hasRight,
	judge,
	judgeIn,
	type Outcome,
	type PersonCaller,
	type Session,
	toSpeaker,
} from '../truth.ts';
import type { Answer, Target, Walk } from '../walk.ts';
import { askA2a } from './a2a.ts';
import { chats, findNamed, said } from './named.ts';
import { addSession, isFree, type Message, noteSaid, refused, toPerson, type Way, write } from './way.ts';

/** The person of a message over OpenAI's protocol: the named user, if the caller may speak for others. */
function toUser(caller: Caller, asked: string | undefined): string | undefined {
	if (caller.kind !== 'person') return undefined;
	return (hasRight(caller.role, 'nameUser') ? asked : undefined) ?? caller.user;
}

/** Returns the effect of a protocol's way, once its session is known. */
async function send(
	walk: Walk,
	way: string,
	{
		caller,
		target,
		outcome,
		message,
		ask,
		find,
	}: {
		readonly caller: Caller;
		readonly target: Target | undefined;
		readonly outcome: Outcome;
		readonly message: Message;
		readonly ask: () => Promise<Answer>;
		readonly find: (answer: Answer) => Session;
	},
): Promise<boolean> {
	if (outcome !== 'ok') {
		await refused(walk, way, target, outcome, ask);
		return true;
	}
	const answer = await ask();
	walk.expect(way, answer, 'ok');
	await said(walk, find(answer), caller, message);
	return true;
}

/** Returns a way over a protocol whose clients send the whole conversation. `toNames` has the fields that name a user. */
const createConversing = (
	name: string,
	path: string,
	toNames: (walk: Walk, user: string | undefined) => object,
): Way => ({
	name,
	weight: 12,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const how = walk.choose('id', 'name', 'none');
		const other = walk.chance(50) ? walk.pick(users) : undefined;
		const user = toUser(caller, other);
		const target = how === 'id' ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x' } = toPerson(caller) ?? {};
		const chat = walk.choose(...chats);
		const named = how === 'name' ? findNamed(walk, 'chat', { owner, user }, chat) : undefined;
		const session = target?.session ?? named?.session;
		let outcome = caller.kind === 'token' ? 403 : judge(caller, 'createSession');
		if (outcome === 'ok' && target !== undefined) {
			outcome = judgeIn(caller, session, { right: 'sendMessage', refusal: 'run' });
			const isAnothers = user !== undefined && user !== session?.user;
			if (outcome === 'ok' && (isAnothers || session?.agent !== 'walker')) outcome = 400;
		}
		if (outcome === 'ok' && session !== undefined && !isFree(session)) return false;
		const person = outcome === 'ok' ? (session ?? { owner, user }) : toPerson(caller);
		const message = write(walk, person, 'witness');
		const names = toNames(walk, other);
		const place = target?.id ?? (how === 'name' ? chat : undefined);
		const ask = () =>
			walk.ask(caller, path, {
				body: { model: 'walker', messages: [{ role: 'user', content: message.text }], ...(other && names) },
				headers: place === undefined ? {} : { 'runlet-session': place },
				only: outcome === 'ok' ? person : undefined,
			});
		const find = ({ headers }: Answer) => {
			const id = headers.get('runlet-session') ?? '';
			const createdBy = (caller as PersonCaller).actor;
			return session ?? named?.note(id, { createdBy }) ?? addSession(walk, id, { owner, user, createdBy });
		};
		return send(walk, name, { caller, target, outcome, message, ask, find });
	},
});

const openai = createConversing('chat completions', '/v1/chat/completions', (walk, user) =>
	walk.choose<object>({ user }, { safety_identifier: user }, { metadata: { user } }),
);

const anthropic = createConversing('Anthropic’s messages', '/v1/messages', (_, user) => ({
	metadata: { user_id: user },
}));

const responses: Way = {
	name: 'responses',
	weight: 12,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const other = walk.chance(50) ? walk.pick(users) : undefined;
		const user = toUser(caller, other);
		const target = walk.chance(60) ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x' } = toPerson(caller) ?? {};
		const session = target?.session;
		let outcome = caller.kind === 'token' ? 403 : judge(caller, 'createSession');
		if (outcome === 'ok' && target !== undefined) {
			outcome = judgeIn(caller, session, { right: 'sendMessage', refusal: 'run' });
			const isAnothers = user !== undefined && user !== session?.user;
			if (outcome === 'ok' && (isAnothers || session?.agent !== 'walker')) outcome = 400;
		}
		if (outcome === 'ok' && session !== undefined && !isFree(session)) return false;
		// The id of a session that is gone or never was begins a conversation.
		if (target !== undefined && session?.isGone !== false && outcome === 404) return false;
		const person = outcome === 'ok' ? (session ?? { owner, user }) : toPerson(caller);
		const message = write(walk, person, 'witness');
		const names = walk.choose({ user: other }, { safety_identifier: other });
		const place = target && { conversation: `conv_${target.id}` };
		const body = { model: 'walker', input: message.text, ...place, ...(other && names) };
		const ask = () => walk.ask(caller, '/v1/responses', { body, only: outcome === 'ok' ? person : undefined });
		const find = ({ headers }: Answer) => {
			const id = headers.get('runlet-session') ?? '';
			const createdBy = (caller as PersonCaller).actor;
			return session ?? addSession(walk, id, { owner, user, createdBy });
		};
		return send(walk, 'responses', { caller, target, outcome, message, ask, find });
	},
};

const readResponse: Way = {
	name: 'read a response',
	weight: 4,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const target = pickTarget(walk, caller);
		const outcome = judgeIn(caller, target.session, { right: 'readSession' });
		const path = walk.choose(`/v1/conversations/conv_${target.id}`, `/v1/conversations/conv_${target.id}/items`);
		const answer = await walk.ask(caller, path, { only: target.session });
		walk.expect('read a response', answer, outcome);
		return true;
	},
};

const resend: Way = {
	name: 'chat completions again',
	weight: 4,
	go: async (walk) => {
		const pick = () => pickPerson(walk, ({ scopes }) => scopes.includes('run'));
		const [one, other] = [pick(), pick()];
		// The message has no mark, because two people send the same text.
		const messages = [{ role: 'user', content: `Hello, for the ${walk.random(0, 1_000_000)}th time.` }];
		const ask = async (caller: PersonCaller, tries: number) => {
			const headers = { 'x-stainless-retry-count': String(tries) };
			const body = { model: 'walker', messages };
			const answer = await walk.ask(caller, '/v1/chat/completions', { body, headers, only: caller });
			walk.expect('chat completions again', answer, 'ok');
			const { owner, user, actor } = caller;
			const id = answer.headers.get('runlet-session') ?? '';
			const known = walk.find(id);
			walk.check(known === undefined || toName(known) === toName(caller), `The request of another person led to ${id}`);
			const session = known ?? addSession(walk, id, { owner, user, createdBy: actor });
			if (known === undefined) noteSaid(walk, session, '', [actor]);
			await settle(walk, session);
			const { models } = await observe(walk);
			return { id, ran: models.length };
		};
		const first = await ask(one, 0);
		const second = await ask(other, 1);
		// All logins of a person count as one sender, and each key counts as another sender.
		const isSame = toName(one) === toName(other) && [one, other].every(({ actor }) => actor.via === 'account');
		walk.check((second.id === first.id) === (other === one || isSame), `${second.id} is the session of both`);
		const third = await ask(one, 1);
		walk.check(
			third.id === first.id && third.ran === 0,
			`The same request came to ${third.id}, and before to ${first.id}`,
		);
		return true;
	},
};

/** Sends a message as a page does, in a chat of its own or in a session by its id. */
const toPage = (name: string, kind: string, toBody: (chat: string, message: Message) => object): Way => ({
	name,
	weight: 12,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const target = walk.chance(60) ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x', user } = toPerson(caller) ?? {};
		const chosen = walk.choose(...chats);
		const named = target === undefined ? findNamed(walk, kind, { owner, user }, chosen) : undefined;
		const session = target?.session ?? named?.session;
		let outcome = judge(caller, 'sendMessage');
		if (outcome === 'ok' && target === undefined && caller.kind === 'token') outcome = 403;
		else if (outcome === 'ok' && target !== undefined) {
			outcome = judgeIn(caller, session, { right: 'sendMessage', refusal: 'run' });
			// This protocol finds no session of another agent.
			if (session?.agent !== 'walker' && outcome !== 401) outcome = 404;
		}
		if (outcome === 'ok' && session !== undefined && !isFree(session)) return false;
		const message = write(walk, outcome === 'ok' ? (session ?? { owner, user }) : toPerson(caller), 'witness');
		const chat = target?.id ?? chosen;
		const ask = () => walk.ask(caller, `/v1/${kind}/walker`, { body: toBody(chat, message) });
		const find = ({ headers }: Answer) => {
			const id = headers.get('runlet-session') ?? '';
			return session ?? (named as NonNullable<typeof named>).note(id, { createdBy: (caller as PersonCaller).actor });
		};
		return send(walk, name, { caller, target, outcome, message, ask, find });
	},
});

/** Sends a message to a context of the client's own, or to a session by its id. */
const a2a: Way = {
	name: 'A2A',
	weight: 12,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const target = walk.chance(60) ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x', user } = toPerson(caller) ?? {};
		const chosen = walk.choose(...chats);
		const named = target === undefined ? findNamed(walk, 'a2a', { owner, user }, chosen) : undefined;
		const session = target?.session ?? named?.session;
		let outcome = judge(caller, 'sendMessage');
		if (outcome === 'ok' && target === undefined && caller.kind === 'token') outcome = 403;
		else if (outcome === 'ok' && target !== undefined) {
			outcome = judgeIn(caller, session, { right: 'sendMessage' });
			// All child sessions are of another agent, too.
			if (outcome === 'ok' && session?.agent !== 'walker') outcome = 404;
		}
		if (outcome === 'ok' && session !== undefined && !isFree(session)) return false;
		const message = write(walk, outcome === 'ok' ? (session ?? { owner, user }) : toPerson(caller), 'witness');
		const said = {
			messageId: message.mark,
			contextId: target?.id ?? chosen,
			role: 'ROLE_USER',
			parts: [{ text: message.text }],
		};
		const ask = () => askA2a(walk, caller, 'SendMessage', { message: said });
		const find = ({ text }: Answer) => {
			const [id = ''] = JSON.parse(text).result.task.id.split('-');
			return session ?? (named as NonNullable<typeof named>).note(id, { createdBy: (caller as PersonCaller).actor });
		};
		return send(walk, 'A2A', { caller, target, outcome, message, ask, find });
	},
};

const readTasks: Way = {
	name: 'read tasks',
	weight: 4,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const target = pickTarget(walk, caller);
		const outcome = judgeIn(caller, target.session, { right: 'readSession' });
		const answer = await askA2a(walk, caller, 'ListTasks', {
			contextId: target.id,
			historyLength: 5,
			includeArtifacts: true,
		});
		// A list does not say that a session exists.
		walk.expect('read tasks', answer, outcome === 404 ? 'ok' : outcome);
		const sees = outcome === 'ok' && target.session?.agent === 'walker';
		if (!sees && answer.status === 200)
			walk.check(answer.result?.tasks?.length === 0, `Tasks of nobody: ${answer.text}`);
		return true;
	},
};

const page = toPage('useChat', 'ui', (id, { mark, text }) => ({
	id,
	messages: [{ id: mark, role: 'user', parts: [{ type: 'text', text }] }],
}));

const agui = toPage('AG-UI', 'ag-ui', (threadId, { mark, text }) => ({
	threadId,
	runId: mark,
	messages: [{ id: mark, role: 'user', content: text }],
}));

const readPage: Way = {
	name: 'read a chat of useChat',
	weight: 4,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const target = walk.chance(60) ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x', user } = toPerson(caller) ?? {};
		const name = walk.choose(...chats);
		const session = target === undefined ? findNamed(walk, 'ui', { owner, user }, name).session : target.session;
		const stream = walk.choose('messages', 'stream');
		const answer = await walk.ask(caller, `/v1/ui/walker/${target?.id ?? name}/${stream}`, { only: session });
		let outcome = judge(caller, 'readSession');
		if (outcome === 'ok' && caller.kind === 'token')
			outcome = target === undefined ? 403 : judgeIn(caller, session, { right: 'readSession' });
		const isForToken = caller.kind === 'token' && target !== undefined;
		if (isForToken && outcome !== 401 && session?.agent !== 'walker') outcome = 404;
		walk.expect('read a chat of useChat', answer, outcome);
		// A caller without access to a chat gets the answer for a missing chat.
		const sees =
			outcome === 'ok' && judgeIn(caller, session, { right: 'readSession' }) === 'ok' && session?.agent === 'walker';
		if (!sees && outcome === 'ok')
			walk.check(['{"messages":[]}', ''].includes(answer.text), `A chat of nobody: ${answer.text}`);
		return true;
	},
};

interface McpAnswer {
	readonly error?: object;
	readonly result?: { readonly isError?: boolean; readonly structuredContent?: { readonly sessionId: string } };
}

/** Reads the last message of an answer over MCP. */
function readMcp(text: string): McpAnswer {
	return JSON.parse(
		text
			.split('\n')
			.findLast((line) => line.startsWith('data: '))
			?.slice(6) ?? text,
	);
}

const mcp: Way = {
	name: 'MCP',
	weight: 12,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const how = walk.choose('id', 'name', 'none');
		const asks = walk.chance(60);
		const target = how === 'id' ? pickTarget(walk, caller, isFree) : undefined;
		const { owner = 'walk-x', user } = toPerson(caller) ?? {};
		const name = how === 'none' ? 'mcp' : walk.choose(...chats);
		const isNew = how === 'none' && asks;
		const named = how === 'id' || isNew ? undefined : findNamed(walk, 'mcp', { owner, user }, name);
		const session = target?.session ?? named?.session;
		const before = caller.kind === 'token' ? 403 : judge(caller, 'createSession');
		const needs = { right: 'sendMessage', refusal: 'run' } as const;
		const isLetIn = target === undefined || (judgeIn(caller, session, needs) === 'ok' && session?.agent === 'walker');
		const isOk = before === 'ok' && isLetIn;
		if (isOk && session !== undefined && !isFree(session)) return false;
		const person = isOk ? (session ?? { owner, user }) : toPerson(caller);
		const message = write(walk, person, 'witness');
		const place = target?.id ?? (how === 'name' ? name : undefined);
		const isInPath = place !== undefined && (!asks || walk.chance(50));
		const args = asks ? { text: message.text, ...(!isInPath && { session: place }) } : { mark: message.mark };
		const params = { name: asks ? 'ask' : 'witness', arguments: args };
		const ask = () =>
			walk.ask(caller, `/mcp/walker${isInPath ? `?session=${encodeURIComponent(place)}` : ''}`, {
				body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
				headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
				only: isOk ? person : undefined,
			});
		if (!isOk || caller.kind !== 'person') {
			const answer = await refused(walk, 'MCP', target, before === 'ok' ? 'ok' : before, ask);
			const { error, result } = before === 'ok' ? readMcp(answer.text) : { error: {}, result: undefined };
			walk.check(error !== undefined || result?.isError === true, `A stranger was let in over MCP: ${answer.text}`);
			return true;
		}
		const answer = await ask();
		walk.expect('MCP', answer, 'ok');
		const { result } = readMcp(answer.text);
		walk.check(result !== undefined && result.isError !== true, `MCP: ${answer.text}`);
		const id = result?.structuredContent?.sessionId ?? seen.tools.at(-1)?.sessionId ?? '';
		const by: Actor = { ...caller.actor, via: 'mcp' };
		const found =
			session ??
			named?.note(id, { createdBy: caller.actor }) ??
			addSession(walk, id, { owner, user, createdBy: caller.actor });
		if (asks) await said(walk, found, { ...caller, actor: by }, message);
		else await witnessed(walk, found, toSpeaker({ ...caller, actor: by }, found), message);
		return true;
	},
};

/** Checks a call from outside of a run, whose only asker is its caller. */
async function witnessed(walk: Walk, session: Session, by: Actor, { mark }: Message): Promise<void> {
	const { askedBy } = session;
	session.askedBy = by;
	const { tools } = await observe(walk);
	session.askedBy = askedBy;
	walk.check(tools.length === 1 && tools[0]?.marks.includes(mark) === true, `${tools.length} calls ran over MCP`);
	await look(walk, session);
}

export const protocols: readonly Way[] = [
	openai,
	responses,
	readResponse,
	anthropic,
	resend,
	page,
	agui,
	a2a,
	readTasks,
	readPage,
	mcp,
];
