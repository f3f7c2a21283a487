import {
	ClientError,
	type ClientOptions,
	createClient,
	type Message,
	type MessageBody,
	type RunEvents,
	type Session,
	type SessionClient,
} from '../client/index.ts';
import { findAskedCall } from '../cloudflare/agent/child-decision.ts';
import { dropUndefined } from '../core/base/json.ts';
import { type MessagePart, RunletError } from '../core/index.ts';
import type { Conversation } from './conversation.ts';
import type { EvalCase, EvalDefinition } from './define.ts';

/** A running Runlet: on this machine, or deployed. */
export interface EvalServer extends Pick<ClientOptions, 'fetch'> {
	readonly url: string;
	/** An API key of staff. A Runlet on this machine needs none. */
	readonly key?: string;
	/** Whether the sessions of the trials stay. Otherwise each is deleted at the end of its trial. */
	readonly keep?: boolean;
}

/** Asks a server for the model of an agent. Throws a `RunletError` if the server has no such agent, or refuses. */
export async function findServerModel({ url, ...options }: EvalServer, name: string): Promise<string> {
	const agents = await createClient(url, options)
		.listAgents()
		.catch((error: unknown) => {
			if (!(error instanceof ClientError)) throw error;
			const why = error.code === 'unreachable' ? 'it does not answer. Is Runlet running there?' : error.message;
			throw new RunletError('not_configured', `${url}: ${why}`);
		});
	const found = agents.find((agent) => agent.name === name);
	if (found !== undefined) return found.model;
	const there = agents.map((agent) => agent.name).join(', ');
	throw new RunletError('not_configured', `${url}: has no agent ${name}. There: ${there || 'none'}.`);
}

/** Opens a session of the agent at a server. Without `model` the server chooses. */
export async function openAtServer(
	definition: EvalDefinition,
	one: EvalCase,
	{ server, model, signal }: { readonly server: EvalServer; readonly model?: string; readonly signal: AbortSignal },
): Promise<Conversation> {
	const { user, metadata, files = {}, state, memories } = { ...definition, ...dropUndefined({ ...one }) };
	const missing = Object.entries({ state, memories, recorded: one.recorded }).find(([, value]) => value !== undefined);
	if (missing !== undefined)
		throw new RunletError('eval_failed', `${missing[0]}: a session at a server cannot begin with it.`);
	const client = createClient(server.url, { key: server.key, fetch: server.fetch });
	const body = dropUndefined({ agent: definition.agent.name, model, user, metadata: metadata && { ...metadata } });
	const { token: _, ...created } = await client.createSession(body, { signal });
	const { id } = created;
	let session: Session = created;
	const follow = async (events: RunEvents): Promise<void> => {
		for await (const _ of events);
		session = await client.getSession(id, { signal });
		const { status, error } = session;
		if (status === 'error') throw new RunletError(error?.code ?? 'internal', error?.message ?? 'The run failed.');
	};
	const close = async (): Promise<void> => {
		if (server.keep !== true) await client.deleteSession(id);
		else if ((await client.getSession(id)).status === 'running') await client.cancelRun(id);
	};
	try {
		for (const [path, content] of Object.entries(files))
			await client.writeFile(id, path, typeof content === 'string' ? content : Uint8Array.from(content), { signal });
	} catch (error) {
		await close();
		throw error;
	}
	return {
		model: session.model,
		send: (message) =>
			follow(client.sendMessage(id, typeof message === 'string' ? message : { parts: toParts(message) }, { signal })),
		submit: (answer) => follow(client.submitResults(id, [answer], { signal })),
		listPending: () => {
			const asked = findAskedCall(session.question);
			return asked === undefined ? (session.toolCalls ?? []) : [{ ...asked.call, kind: 'approval' }];
		},
		read: async () => {
			const now = await client.getSession(id);
			const messages = await client.listMessages(id);
			const unpriced = await findUnpriced(client, now, messages);
			return {
				...{ status: now.run?.status ?? now.status, messages, tokens: now.budget.spent.tokens },
				...(unpriced === undefined ? { costUsd: now.budget.spent.usd } : { unpriced }),
			};
		},
		close,
	};
}

/** Finds a turn without a known cost, in the session or its children. Returns its model. */
async function findUnpriced(
	client: SessionClient,
	{ children = [] }: Session,
	messages: readonly Message[],
): Promise<string | undefined> {
	for (const { turn } of messages) if (turn !== undefined && turn.usage.costUsd === undefined) return turn.model;
	for (const { id } of children) {
		const found = await findUnpriced(client, await client.getSession(id), await client.listMessages(id));
		if (found !== undefined) return found;
	}
	return undefined;
}

/** Converts the parts of a message for the API. It takes no results of tools. */
function toParts(given: readonly MessagePart[]): NonNullable<MessageBody['parts']> {
	return given.flatMap(({ kind, text, mime, data, url, name }) =>
		kind === 'text' || kind === 'image' || kind === 'audio' || kind === 'file'
			? [dropUndefined({ kind, text, mime, data, url, name })]
			: [],
	);
}
