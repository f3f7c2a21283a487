import type { Context } from 'hono';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { listToolNames } from '../agent/tool-names.ts';
import { assertRight } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import type { SessionState } from '../objects/session-api.ts';
import { getCaller, getPerson, type RouteEnv } from '../routes/identity.ts';
import { createSessionId, mount, readHandling } from '../routes/request.ts';
import { askSession, toSessionId } from '../routes/respond.ts';
import { toHistory } from '../wire/protocols/openai/conversation.ts';
import * as endpoints from '../wire/protocols/responses/endpoints.ts';
import { formatConversationId, parseConversationId } from '../wire/protocols/responses/ids.ts';
import { nameFields, readInput } from '../wire/protocols/responses/input.ts';
import { toItemPage } from '../wire/protocols/responses/items.ts';
import type { ConversationRequest } from '../wire/protocols/responses/schema.ts';
import { listItems } from './list-items.ts';

/** `/v1/conversations`: serves sessions as conversations of OpenAI's API (docs/responses.md, "Conversations"). */
export function createConversationRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(endpoints.createConversation, async (c) => {
			const body = c.req.valid('json');
			const agent = findAgent(agents, body);
			const { owner, by, role } = getPerson(c);
			const metadata = body.metadata ?? {};
			if (Object.keys(metadata).length > 0) assertRight(role, 'nameUser', 'metadata');
			if (agent === undefined) {
				const id = readConfig(c.env).placeSessions({ owner, agent: '' }).newUniqueId();
				return Response.json(show(id.toString(), Date.now()));
			}
			const how = readHandling(c, body);
			const id = createSessionId(c, { owner, by, role }, agent.name, how);
			const create = { agent: agent.name, metadata, owner, user: by.user, by, role, history: readHistory(body, agent) };
			const outcome = await askSession(c, id, (one) => one.create(create, how));
			if (outcome.kind !== 'session') throw new Error(`A session was created by ${outcome.kind}.`);
			return Response.json(showSession(outcome.session));
		}),
		mount(endpoints.getConversation, async (c) => {
			const { id, caller } = findConversation(c);
			return Response.json(showSession(await askSession(c, id, (one) => one.state(caller))));
		}),
		mount(endpoints.deleteConversation, async (c) => {
			const { id, caller } = findConversation(c);
			await askSession(c, id, (one) => one.delete(caller));
			return Response.json({ id: c.req.param('conversation'), object: 'conversation.deleted', deleted: true });
		}),
		mount(endpoints.listConversationItems, async (c) => {
			const items = await listItems(c, findConversation(c));
			return Response.json(toItemPage(items, c.req.valid('query')));
		}),
	];
}

/** Finds the agent of a new conversation. A conversation without content gets its agent with the first response. */
function findAgent(agents: readonly Agent[], { items, metadata }: ConversationRequest): Agent | undefined {
	const name = metadata?.agent;
	const [only, ...others] = name === undefined ? agents : agents.filter((agent) => agent.name === name);
	if (only !== undefined && others.length === 0) return only;
	if (name === undefined && items.length === 0 && Object.keys(metadata ?? {}).length === 0) return undefined;
	const known = agents.map((agent) => agent.name).join(', ');
	throw createFieldError('invalid_request', 'metadata.agent', `name the agent of the conversation: ${known}.`);
}

function readHistory({ items }: ConversationRequest, agent: Agent) {
	if (items.length === 0) return [];
	const { messages, fields } = readInput(items, 'conversation');
	return nameFields(fields, () => toHistory(messages, { name: agent.name, toolNames: listToolNames(agent) }));
}

function findConversation(c: Context<RouteEnv>) {
	const session = parseConversationId(c.req.param('conversation') ?? '');
	if (session === undefined) throw new RunletError('not_found', 'There is no such conversation.');
	return { id: toSessionId(c, session), caller: getCaller(c, session) };
}

function showSession({ id, createdAt, metadata }: Pick<SessionState, 'id' | 'createdAt' | 'metadata'>) {
	return show(id, Date.parse(createdAt), metadata);
}

/** @param createdAt milliseconds since 1970 */
function show(session: string, createdAt: number, metadata: SessionState['metadata'] = {}) {
	const created_at = Math.floor(createdAt / 1_000);
	return { id: formatConversationId(session), object: 'conversation', created_at, metadata };
}
