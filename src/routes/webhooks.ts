import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { Agent } from '../agents/index.ts';
import { localIdentity, webhookOwner } from '../auth/identity.ts';
import { check } from '../check.ts';
import { config } from '../config.ts';
import { messageOf, RunletError } from '../errors.ts';
import { assertPublicUrl } from '../net/public-url.ts';
import type { Runtime } from '../session/agent.ts';
import { type Input, replayed, webhookKey } from '../session/api.ts';
import { sources, verify, type WebhookEvent, type WebhookMapping } from '../webhooks/index.ts';
import { messageBody } from '../wire/message.ts';
import { receiveWebhook } from '../wire/operations/webhooks.ts';
import { metadata } from '../wire/session.ts';
import { askSession } from './ask-session.ts';
import type { RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { notAllowed, readBytes } from './request.ts';

/** When a sender that was turned away may come again, in seconds. */
const retryAfter = 30;

const aboutBody = v.strictObject({
	session: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(512))),
	sender: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(255))),
	metadata: v.optional(metadata),
	callback: v.optional(v.pipe(v.string(), v.maxLength(2_048))),
});

/** What a session answers to a message that it has accepted, now or before. */
const accepted = v.object({ runId: v.optional(v.string()) });

/**
 * `/v1/webhooks/:agent/:source`: a delivery becomes a message, once (hardening.md, "Webhooks"). Its signature is what
 * authenticates it, so no API key is asked for.
 */
export function webhooksRoute({ agents }: Pick<Runtime, 'agents'>) {
	return new Hono<RouteEnv>()
		.post('/:agent/:source', serves(receiveWebhook), async (c) => {
			const { agent, source, mapping } = endpointOf(agents, c.req.param());
			const secrets = config(c.env).webhookSecrets(source.name);
			const delivery = { body: await readBytes(c.req.raw), headers: c.req.raw.headers };
			const { event, reply } = await verify(source, delivery, { secrets, now: Date.now() });
			if (reply !== undefined) return c.text(reply);
			const message = await mapped(c, agent, mapping, event);
			return message === undefined ? c.body(null, 204) : take(c, agent, event, message);
		})
		.all('/:agent/:source', notAllowed('POST'));
}

/** Whoever asks is not known yet, so it is not told what there is. */
function endpointOf(agents: readonly Agent[], { agent: name, source: from }: { agent: string; source: string }) {
	const agent = agents.find((one) => one.name === name);
	const source = Object.values(sources).find((one) => one.name === from);
	const mapping = source && agent?.webhooks?.[source.name];
	if (agent !== undefined && source !== undefined && mapping !== undefined) return { agent, source, mapping };
	throw new RunletError(
		'not_found',
		'There is no such webhook: the agent, or its webhooks in defineAgent, has no such name.',
	);
}

/** What the agent makes of an event, checked; nothing where it wants none of it. */
async function mapped(c: Context<RouteEnv>, agent: Agent, mapping: WebhookMapping, event: WebhookEvent) {
	try {
		const given = await mapping(event);
		if (given === undefined) return undefined;
		const { session, sender, metadata, callback, ...message } = typeof given === 'string' ? { text: given } : given;
		const about = check(aboutBody, { session, sender, metadata, callback }, 'message');
		return { ...check(messageBody, message, 'message'), ...about, callback: callbackUrl(c, callback) };
	} catch (cause) {
		if (cause instanceof RunletError && cause.code === 'not_configured') throw cause;
		// Whoever is at this machine wrote the mapping; a sender is told nothing of it.
		const why = config(c.env).keys.length === 0 ? messageOf(cause) : 'The log has the place';
		const message = `The agent ${agent.name} failed at this event: see webhooks.${event.source} in its definition. ${why}.`;
		throw new RunletError('internal', message, undefined, { cause });
	}
}

function callbackUrl(c: Context<RouteEnv>, callback: string | undefined): string | undefined {
	if (callback === undefined) return undefined;
	const { callbackSecrets, local } = config(c.env);
	callbackSecrets();
	return assertPublicUrl(callback, { allowLoopback: local !== undefined, field: 'callback' }).href;
}

type MappedMessage = NonNullable<Awaited<ReturnType<typeof mapped>>>;

/** Gives the message to its session, which stores it with the delivery's id: `202`, or `200` where it had it before. */
async function take(
	c: Context<RouteEnv>,
	{ name: agent }: Agent,
	{ source, id }: WebhookEvent,
	{ session, metadata, sender = source, ...message }: MappedMessage,
): Promise<Response> {
	const { sessions, keys } = config(c.env);
	const owner = keys.length === 0 ? localIdentity.owner : webhookOwner;
	const caller = { owner };
	const key = session === undefined ? `delivery ${id}` : `session ${session}`;
	const sessionId = sessions.idFromName(`webhook ${owner} ${agent} ${source} ${key}`);
	const create = { agent, owner, metadata };
	const input: Input = { ...message, sender, transport: `webhook:${source}`, isPatient: true, create };
	const once = { key: webhookKey(source, id), request: 'webhook' };
	const response = await askSession(
		c,
		sessionId,
		(one) => one.send(caller, input, { delivery: 'accepted', once }),
		true,
	);
	if (response.status === 409) {
		await response.body?.cancel();
		throw busy('The session cannot take this event now: too many wait, or it waits for somebody. Send it again.');
	}
	if (!response.ok) return response;
	const { runId } = v.parse(accepted, await response.json());
	return c.json({ sessionId: sessionId.toString(), runId }, response.headers.has(replayed) ? 200 : 202);
}

function busy(message: string): RunletError {
	return new RunletError('overloaded', message, { retryAfter });
}
