import { ClientError, createClient, type MessageBody, type RunEvents, type Session } from '../client/index.ts';
import { dropUndefined } from '../core/base/json.ts';
import { type MessagePart, RunletError } from '../core/index.ts';
import type { Conversation } from './conversation.ts';
import type { EvalCase, EvalDefinition } from './define.ts';

/** A running Runlet: on this machine, or deployed. */
export interface EvalServer {
	readonly url: string;
	/** An API key of staff. A Runlet on this machine needs none. */
	readonly key?: string;
	/** Whether the sessions of the trials stay. Otherwise each is deleted at the end of its trial. */
	readonly keep?: boolean;
}

/** Asks a server for the model of an agent. Throws a `RunletError` if the server has no such agent, or refuses. */
export async function findServerModel({ url, key }: EvalServer, name: string): Promise<string> {
	const agents = await createClient(url, { key })
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

/** Opens a session of the agent at a server. */
export async function openAtServer(
	definition: EvalDefinition,
	one: EvalCase,
	{ server, model, signal }: { readonly server: EvalServer; readonly model?: string; readonly signal: AbortSignal },
): Promise<Conversation> {
	const { user, metadata, files, state, memories } = { ...definition, ...one };
	const missing = Object.entries({ state, memories, recorded: one.recorded }).find(([, value]) => value !== undefined);
	if (missing !== undefined)
		throw new RunletError('eval_failed', `${missing[0]}: a session at a server cannot begin with it.`);
	const client = createClient(server.url, { key: server.key });
	const {
		id,
		token: _,
		...created
	} = await client.createSession(
		{
			agent: definition.agent.name,
			...(model && { model }),
			...(user !== undefined && { user }),
			...(metadata && { metadata }),
		},
		{ signal },
	);
	let session: Session = { ...created, id };
	const follow = async (events: RunEvents): Promise<void> => {
		for await (const _ of events);
		session = await client.getSession(id, { signal });
		const { error } = session;
		if (session.status === 'error')
			throw new RunletError(error?.code ?? 'internal', error?.message ?? 'The run failed.');
	};
	const close = async (): Promise<void> => {
		if (server.keep !== true) await client.deleteSession(id);
		else if ((await client.getSession(id)).status === 'running') await client.cancelRun(id);
	};
	try {
		for (const [path, content] of Object.entries(files ?? {}))
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
		listPending: () => session.toolCalls ?? [],
		read: async () => {
			const [{ status, budget, run }, messages] = await Promise.all([client.getSession(id), client.listMessages(id)]);
			const unpriced = messages.find(({ turn }) => turn !== undefined && turn.usage.costUsd === undefined)?.turn?.model;
			return {
				...{ status: run?.status ?? status, messages, tokens: budget.spent.tokens },
				...(unpriced === undefined ? { costUsd: budget.spent.usd } : { unpriced }),
			};
		},
		close,
	};
}

/** Converts the parts of a message for the API. It takes no results of tools. */
function toParts(given: readonly MessagePart[]): NonNullable<MessageBody['parts']> {
	return given.flatMap(({ kind, text, mime, data, url, name }) =>
		kind === 'text' || kind === 'image' || kind === 'audio' || kind === 'file'
			? [dropUndefined({ kind, text, mime, data, url, name })]
			: [],
	);
}
