import type { Context } from 'hono';
import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import { check } from '../../core/base/check.ts';
import { RunletError, toMessageText } from '../../core/base/errors.ts';
import { createDeferred } from '../../core/base/promises.ts';
import { assertPublicUrl } from '../../core/base/public-fetch.ts';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { WebhookMessage, WebhookOptions } from '../agent/webhook-mapping.ts';
import { localIdentity, webhookOwner } from '../auth/identity.ts';
import { userName } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import { logUnexpected } from '../log.ts';
import { webhookKey } from '../objects/once.ts';
import type { Input, SessionApi } from '../objects/session-api.ts';
import { receiveWebhook } from '../wire/endpoints/webhooks.ts';
import { messageBody } from '../wire/message.ts';
import { assertSigned, sources, type Verified, verify, type WebhookEvent } from '../wire/protocols/webhooks/index.ts';
import { assertSlackUrl, formatReplyTarget } from '../wire/protocols/webhooks/reply.ts';
import { metadata } from '../wire/session.ts';
import { isOnlyLocal, type RouteEnv } from './identity.ts';
import { assertStrangerRate } from './rate.ts';
import { mount, readBytes, readOrigin } from './request.ts';
import { askSession, toSessionName } from './respond.ts';

/** The maximum number of bytes in a body, unless the agent sets another limit. */
const maxBytes = 1_000_000;
/** The time limit for reading a body, in milliseconds. GitHub waits no longer than this for the answer. */
const readMs = 10_000;
/** The time limit for an answer that a person sees, in milliseconds. Slack waits 3 seconds for the answer. */
const shownMs = 2_000;

const aboutBody = v.strictObject({
	session: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(512))),
	owner: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^(?!\*$)[\x21-\x7e]{1,128}$/, 'expected 1 to 128 visible ASCII characters without spaces'),
		),
	),
	user: v.optional(userName),
	sender: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(255))),
	metadata: v.optional(metadata),
	callback: v.optional(v.pipe(v.string(), v.maxLength(2_048))),
	answers: v.optional(v.boolean()),
	responseUrl: v.optional(v.pipe(v.string(), v.maxLength(2_048))),
	isPublic: v.optional(v.boolean()),
	comment: v.optional(
		v.strictObject({
			repository: v.pipe(
				v.string(),
				v.maxLength(201),
				v.regex(/^[\w.-]{1,100}\/[\w.-]{1,100}$/, 'expected OWNER/NAME'),
			),
			issue: v.pipe(v.number(), v.integer(), v.minValue(1)),
		}),
	),
});

/** `/v1/webhooks/:agent/:source`: turns signed deliveries into messages, without an API key (docs/webhooks.md). */
export function createWebhookRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(receiveWebhook, async (c) => {
			const { agent, source, options } = findEndpoint(agents, c.req.param());
			const secrets = readConfig(c.env).findWebhookSecrets(source.name, agent.name);
			const { headers } = c.req.raw;
			const verified = await orStranger(c, async () => {
				assertSigned(source, headers, { now: Date.now() });
				const body = await readBytes(c.req.raw, options.maxBytes ?? maxBytes, readMs);
				return verify(source, { body, headers }, { secrets, now: Date.now() });
			});
			if (verified.reply !== undefined) return c.text(verified.reply);
			const work = handle(c, agent, options, verified);
			return verified.isShown ? show(c, work) : work;
		}),
	];
}

/** The caller is not authenticated yet, so the error does not reveal which agents and sources exist. */
function findEndpoint(agents: readonly Agent[], { agent: name, source: from }: { agent: string; source: string }) {
	const agent = agents.find((one) => one.name === name);
	const source = Object.values(sources).find((one) => one.name === from);
	const mapping = source && agent?.webhooks?.[source.name];
	const options = typeof mapping === 'function' ? { map: mapping } : mapping;
	if (agent !== undefined && source !== undefined && options !== undefined) return { agent, source, options };
	throw new RunletError(
		'not_found',
		'There is no such webhook: the agent, or its webhooks in defineAgent, has no such name.',
	);
}

/** Limits how many wrong signatures an address can send, so that nobody can guess the secret. */
async function orStranger<T>(c: Context<RouteEnv>, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof RunletError && error.code === 'auth') await assertStrangerRate(c);
		throw error;
	}
}

/** Handles a delivery. Answers `204` if the agent ignores the event. */
async function handle(c: Context<RouteEnv>, agent: Agent, options: WebhookOptions, { event, body }: Verified) {
	const message = await mapEvent(c, agent, options, event);
	if (message === undefined) return c.body(null, 204);
	return store(c, agent, { ...event, body: options.sameBody === 'again' ? undefined : body }, message);
}

/** Answers a source that shows the answer to a person. Sends an empty body within `shownMs`. Longer work continues. */
async function show(c: Context<RouteEnv>, work: Promise<Response>): Promise<Response> {
	const late = createDeferred<undefined>();
	const timer = setTimeout(() => late.resolve(undefined), shownMs);
	keepAlive(c, work.catch(logUnexpected));
	try {
		await Promise.race([work, late.promise]);
		return c.body('');
	} finally {
		clearTimeout(timer);
	}
}

function keepAlive(c: Context<RouteEnv>, work: Promise<unknown>): void {
	try {
		c.executionCtx.waitUntil(work);
	} catch {
		// Outside of Workers there is no execution context.
	}
}

async function mapEvent(c: Context<RouteEnv>, agent: Agent, { map }: WebhookOptions, event: WebhookEvent) {
	try {
		const mapped = await map(event);
		if (mapped === undefined) return undefined;
		const { session, owner, user, sender, metadata, callback, answers, responseUrl, isPublic, comment, ...message } =
			typeof mapped === 'string' ? { text: mapped } : mapped;
		const whole = { session, owner, user, sender, metadata, callback, answers, responseUrl, isPublic, comment };
		const { responseUrl: _, isPublic: __, comment: ___, ...about } = check(aboutBody, whole, 'message');
		if ([callback, responseUrl, comment].filter((receiver) => receiver !== undefined).length > 1)
			throw new RunletError('invalid_request', 'callback, responseUrl, comment: expected one of them at most.');
		return { ...check(messageBody, message, 'message'), ...about, callback: findReceiver(c, whole) };
	} catch (cause) {
		if (cause instanceof RunletError && cause.code === 'not_configured') throw cause;
		// Only the developer at this machine sees the message. A sender never sees it.
		const why = isOnlyLocal(c) ? toMessageText(cause) : 'The log has the place';
		const message = `The agent ${agent.name} failed at this event: see webhooks.${event.source} in its definition. ${why}.`;
		throw new RunletError('internal', message, undefined, { cause });
	}
}

/** Returns the receiver of the answer. Undefined if there is none, or for a comment without a GitHub token. */
function findReceiver(
	c: Context<RouteEnv>,
	{ callback, responseUrl, isPublic = false, comment }: Omit<WebhookMessage, 'text'>,
): string | undefined {
	const { local, github } = readConfig(c.env);
	if (responseUrl !== undefined) {
		const url = assertSlackUrl(responseUrl, local !== undefined);
		return formatReplyTarget({ kind: 'slack', url, isPublic });
	}
	if (comment !== undefined)
		return github.token === undefined ? undefined : formatReplyTarget({ kind: 'github', ...comment });
	return callbackUrl(c, callback);
}

function callbackUrl(c: Context<RouteEnv>, callback: string | undefined): string | undefined {
	if (callback === undefined) return undefined;
	const { findCallbackSecrets, local } = readConfig(c.env);
	findCallbackSecrets();
	return assertPublicUrl(callback, { allowLoopback: local !== undefined, field: 'callback' }).href;
}

type MappedMessage = NonNullable<Awaited<ReturnType<typeof mapEvent>>>;

/** Stores the message with the delivery's id. Answers `202`, or `200` for a repeated delivery. */
async function store(
	c: Context<RouteEnv>,
	{ name: agent }: Agent,
	{ source, id, body }: WebhookEvent & Pick<Verified, 'body'>,
	{ session, owner: mappedOwner, user, metadata, sender = source, answers, ...message }: MappedMessage,
): Promise<Response> {
	const { placeSessions } = readConfig(c.env);
	const owner = mappedOwner ?? (isOnlyLocal(c) ? localIdentity.by.owner : webhookOwner);
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'webhook', id: `${agent}/${source}` };
	const caller = { owner, by };
	// If the id is not signed, the session's name has the body's hash. So a replay with a new id finds this session.
	const key = session === undefined ? `delivery ${body ?? id}` : `session ${session}`;
	const name = toSessionName({ owner, user }, 'webhook', agent, source, key);
	const sessionId = placeSessions({ owner, agent }).idFromName(name);
	const create = { agent, owner, user, by, metadata };
	const input: Input = {
		...message,
		sender,
		transport: `webhook:${source}`,
		isPatient: true,
		mayAnswer: answers,
		create,
	};
	const once = { key: webhookKey(source, id), request: 'webhook', body: body && webhookKey(source, body) };
	const send = (one: SessionApi) => one.send(caller, input, { delivery: 'accepted', once, origin: readOrigin(c) });
	try {
		const outcome = await askSession(c, sessionId, send, true);
		const runId = outcome.kind === 'accepted' ? outcome.runId : undefined;
		return c.json({ sessionId: sessionId.toString(), runId }, outcome.isReplay ? 200 : 202);
	} catch (error) {
		if (!(error instanceof RunletError) || error.status !== 409) throw error;
		const message = 'The session cannot take this event now: too many wait, or it waits for somebody. Send it again.';
		throw new RunletError('overloaded', message, { retryAfter: 30 });
	}
}
