import type { Context } from 'hono';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { Right } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import { toError } from '../objects/reach.ts';
import type { Caller, FoundRun, RunOutcome } from '../objects/session-api.ts';
import { converse, findUser, readResend } from '../routes/conversation.ts';
import { getCaller, getPerson, type PersonCaller, type RouteEnv } from '../routes/identity.ts';
import { findModel } from '../routes/model-list.ts';
import type { Dispatch } from '../routes/plugins.ts';
import { mount, readHandling } from '../routes/request.ts';
import { askSession, toEventStream, toSessionId, toStream } from '../routes/respond.ts';
import { format, type RunLine, readRun, readStart } from '../routes/run-lines.ts';
import { formatEventId, toStart } from '../session/events/log.ts';
import { refusalResponse, runFailureResponse } from '../wire/protocols/openai/error.ts';
import * as endpoints from '../wire/protocols/responses/endpoints.ts';
import { createHead, type ResponseHead, readHead } from '../wire/protocols/responses/head.ts';
import { formatConversationId, parseResponseId, type RunPlace } from '../wire/protocols/responses/ids.ts';
import { toItemPage } from '../wire/protocols/responses/items.ts';
import type { ResponseRequest } from '../wire/protocols/responses/schema.ts';
import { ResponseWriter } from '../wire/protocols/responses/writer.ts';
import { createCompactRoute } from './compact.ts';
import { listItems } from './list-items.ts';
import { findPlace } from './place.ts';
import { readWhole, toEvents } from './read-run.ts';
import { createSocketRoute } from './socket.ts';
import { readUpdate } from './update.ts';

/** `/v1/responses`: serves agents as models of OpenAI's Responses API (docs/responses.md). */
export function createResponseRoutes({ agents }: Pick<Runtime, 'agents'>, dispatch: Dispatch) {
	const respond = (c: Context<RouteEnv>, body: ResponseRequest) => createResponse(c, agents, body);
	return [
		mount(endpoints.createResponse, (c) => respond(c, c.req.valid('json'))),
		createSocketRoute(dispatch),
		createCompactRoute(respond),
		mount(endpoints.getResponse, async (c) => {
			const { stream, starting_after: seen } = c.req.valid('query');
			const found = await findResponse(c);
			if (stream === 'true')
				return toEventStream(toStream(toEvents(await openRun(c, found), createWriter(found, seen))));
			if (seen !== undefined)
				throw createFieldError('invalid_request', 'starting_after', 'only a stream has places. Add stream=true.');
			return Response.json(await showResponse(c, found));
		}),
		mount(endpoints.cancelResponse, async (c) => {
			const found = await findResponse(c, 'sendMessage');
			const { caller, id, run } = found;
			// Whoever may not read the response may not cancel it.
			const lines = await openRun(c, found);
			if (run.isRunning) await askSession(c, id, (one) => one.cancel(caller), true);
			const writer = createWriter(found);
			await readWhole(lines, writer);
			return Response.json(writer.response);
		}),
		mount(endpoints.deleteResponse, async (c) => {
			const { caller, id, place, run } = await findResponse(c, 'manageSession');
			if (place.run > 1 || !run.isNewest) {
				const whole = `DELETE /v1/conversations/${formatConversationId(place.session)}`;
				throw new RunletError('conflict', `This response is part of a conversation. Delete that: ${whole}.`);
			}
			await askSession(c, id, (one) => one.delete(caller));
			return Response.json({ id: c.req.param('response'), object: 'response', deleted: true });
		}),
		mount(endpoints.listInputItems, async (c) => {
			const { caller, id, place, run } = await findResponse(c);
			// The history that came with the first response belongs to no run.
			const isFirst = place.run === 1;
			let hasBegun = isFirst;
			const items = await listItems(c, { id, caller, from: isFirst ? 0 : run.first }, ({ runId, isInput }) => {
				const isOwn = runId === run.id || (isFirst && runId === undefined);
				if (!isOwn) return hasBegun ? 'end' : 'skip';
				hasBegun = true;
				return isInput === true ? 'take' : 'skip';
			});
			return Response.json(toItemPage(items, c.req.valid('query')));
		}),
	];
}

async function createResponse(
	c: Context<RouteEnv>,
	agents: readonly Agent[],
	body: ResponseRequest,
): Promise<Response> {
	const caller = getPerson(c);
	const user = findUser(caller, body.user ?? body.safety_identifier);
	const { agent, model } = findModel(agents, body.model, readConfig(c.env).model);
	// Codex repeats a request without a header, and calls each turn by a name.
	const turn = body.client_metadata?.turn_id;
	const repeatable = turn === undefined ? undefined : JSON.stringify([turn, body.input]);
	const { once = await readResend(c, repeatable), origin } = readHandling(c, body);
	const { place, after, input } = await findPlace(c, { caller, once, agent: agent.name }, body);
	const head = createHead(body, Math.floor(Date.now() / 1_000));
	return converse(c, {
		speaker: { caller, user, agent },
		how: { once, origin: { ...origin, kept: head }, delivery: 'stream', format },
		repeatable,
		place,
		readUpdate: () => ({ ...readUpdate(body, input, { agent, model }), after }),
		answer: (outcome, session) => answer(c, outcome, { session, caller, head, agent: agent.name, ...body }),
		fail: runFailureResponse,
		refuse: refusalResponse,
	});
}

interface Answering {
	readonly session: string;
	readonly caller: PersonCaller;
	readonly head: ResponseHead;
	readonly agent: string;
	readonly stream: boolean;
	readonly background: boolean;
}

async function answer(
	c: Context<RouteEnv>,
	outcome: RunOutcome,
	{ session, caller, head, agent, stream, background }: Answering,
): Promise<Response> {
	if (outcome.kind === 'failed') return runFailureResponse(toError(outcome.error));
	if (outcome.kind !== 'stream') {
		const message = 'The decision is stored. The run waits for decisions about its other calls.';
		return runFailureResponse(new RunletError('awaiting_tools', message));
	}
	const lines = readRun(c, { session: toSessionId(c, session), caller, stream: outcome.stream });
	const { run, all } = await readStart(lines);
	// A repeated request gets the response of the first one, with its times.
	const found = outcome.isReplay
		? await askSession(c, toSessionId(c, session), (one) => one.findRun(caller, run, 'readSession'), true)
		: undefined;
	const { created_at = head.created_at } = readHead(found?.kept) ?? {};
	const about = { head: { ...head, created_at }, place: { session, run }, agent };
	const writer = new ResponseWriter({ ...about, endedAt: found?.endedAt });
	const headers: Record<string, string> = outcome.isReplay ? { 'idempotent-replayed': 'true' } : {};
	if (stream) return toEventStream(toStream(toEvents(all, writer)), headers);
	// The run goes on without a reader.
	if (background) await lines.return(undefined);
	else await readWhole(all, writer);
	return writer.error === undefined ? Response.json(writer.response, { headers }) : runFailureResponse(writer.error);
}

interface FoundResponse {
	readonly caller: Caller;
	readonly id: DurableObjectId;
	readonly place: RunPlace;
	readonly run: FoundRun;
	readonly head: ResponseHead;
}

/** Finds the response in the path. Throws `not_found`, also for a response with `store: false`. */
async function findResponse(c: Context<RouteEnv>, right: Right = 'readSession'): Promise<FoundResponse> {
	const place = parseResponseId(c.req.param('response') ?? '');
	const missing = new RunletError('not_found', 'There is no such response. It is deleted, or was not stored.');
	if (place === undefined) throw missing;
	const id = toSessionId(c, place.session);
	const caller = getCaller(c, place.session);
	const run = await askSession(c, id, (one) => one.findRun(caller, place.run, right), true);
	const head = readHead(run.kept);
	if (head?.store !== true) throw missing;
	return { caller, id, place, run, head };
}

function createWriter({ head, place, run: { agent, endedAt } }: FoundResponse, seen?: number): ResponseWriter {
	return new ResponseWriter({ head, place, agent, seen, endedAt });
}

async function openRun(
	c: Context<RouteEnv>,
	{ caller, id, place }: FoundResponse,
): Promise<AsyncGenerator<RunLine, undefined>> {
	const from = formatEventId(toStart(place.run));
	const stream = await askSession(c, id, (one) => one.events(caller, from, format), true);
	if (stream === undefined) throw new Error('A run has no events.');
	return readRun(c, { session: id, caller, stream });
}

/** Shows a response as JSON. The output of a response that is being written comes at its end. */
async function showResponse(c: Context<RouteEnv>, found: FoundResponse) {
	const writer = createWriter(found);
	const lines = await openRun(c, found);
	if (found.run.isRunning) await lines.return(undefined);
	else await readWhole(lines, writer);
	return writer.response;
}
