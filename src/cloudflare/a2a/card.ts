import type { Context } from 'hono';
import { hashText } from '../../core/base/bytes.ts';
import { type Agent, chooseModel, findAgent } from '../agent/define.ts';
import { createResolver } from '../agent/resolver.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { assertMay, authenticate, getActor, isOnlyLocal, type RouteEnv } from '../routes/identity.ts';
import { isFresh } from '../routes/request.ts';
import type { AgentCard } from '../wire/protocols/a2a/card.ts';
import { protocolVersion } from '../wire/protocols/a2a/rpc.ts';
import { version } from '../wire/version.ts';
import { hasReceivers } from './receivers.ts';

/**
 * Answers with the card of an agent. A caller without a key gets a card that says only how to call, whether or not the
 * agent exists. So it shows nothing that `/v1/agents` does not show to the same caller.
 */
export async function answerWithCard(c: Context<RouteEnv, string>, runtime: Runtime): Promise<Response> {
	const hasKey = isOnlyLocal(c) || ['authorization', 'x-api-key', 'api-key'].some((name) => c.req.header(name));
	if (hasKey) await authenticate(c, async () => {});
	const isKnown = hasKey && c.var.identity.kind === 'person';
	if (isKnown) assertMay(c, 'seeAgents');
	const name = c.req.param('agent') ?? '';
	const card = isKnown ? await showWholeCard(c, runtime, findAgent(runtime.agents, name)) : showPublicCard(c, name);
	const etag = hashText(JSON.stringify(card));
	const headers = {
		etag: `"${etag}"`,
		'cache-control': `${isKnown ? 'private' : 'public'}, max-age=300`,
		vary: 'authorization, x-api-key, api-key',
	};
	if (isFresh(c, etag)) return new Response(null, { status: 304, headers });
	return Response.json(card, { headers });
}

/** Shows all of an agent that `/v1/agents` shows to the same caller. */
export async function showWholeCard(c: Context<RouteEnv>, runtime: Runtime, agent: Agent): Promise<AgentCard> {
	const { name, description, examples = [], outputSchema } = agent;
	const config = readConfig(c.env);
	const model = chooseModel(agent, undefined, config.model);
	const reader = { runtime, config, reader: { ...getActor(c), metadata: {} } };
	const skills = (await createResolver(agent, reader)?.listFn({ messages: [], model })) ?? [];
	return {
		...showPublicCard(c, name),
		description,
		...(isOnlyLocal(c) && { securitySchemes: {}, securityRequirements: [] }),
		defaultOutputModes: [outputSchema === undefined ? 'text/plain' : 'application/json'],
		skills: [
			{ id: name, name, description, tags: ['agent'], examples: [...examples] },
			...skills.map((skill) => ({
				id: `skill:${skill.name}`,
				name: skill.name,
				description: skill.description,
				tags: ['skill'],
			})),
		],
	};
}

function showPublicCard(c: Context<RouteEnv>, name: string): AgentCard {
	const { publicUrl } = readConfig(c.env);
	const origin = publicUrl === undefined ? new URL(c.req.url).origin : new URL(publicUrl).origin;
	const url = `${origin}${c.var.basePath}/v1/a2a/${encodeURIComponent(name)}`;
	const description = 'An agent that needs a key. GetExtendedAgentCard tells more about it.';
	return {
		name,
		description,
		supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion }],
		version,
		capabilities: { streaming: true, pushNotifications: hasReceivers(c), extendedAgentCard: true },
		securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An API key.' } } },
		securityRequirements: [{ schemes: { key: { list: [] } } }],
		defaultInputModes: ['text/plain', 'application/json', 'image/*', 'application/pdf'],
		defaultOutputModes: ['text/plain'],
		skills: [{ id: name, name, description, tags: ['agent'] }],
	};
}
