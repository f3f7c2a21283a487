import type { Context } from 'hono';
import type * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { parseJson } from '../../core/base/json.ts';
import { assertRight, hasRight } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import type { Bytes, RpcResult } from '../objects/reach.ts';
import type { Handling, ImportOwner, ImportPart, RunOutcome, SessionApi } from '../objects/session-api.ts';
import * as messages from '../wire/endpoints/messages.ts';
import * as endpoints from '../wire/endpoints/sessions.ts';
import { maxDocument, maxLines, toRecords } from '../wire/import.ts';
import { place } from '../wire/page.ts';
import { readRequestId } from '../wire/request-id.ts';
import type { RepeatableSession } from '../wire/session.ts';
import { getCallerOrAdmin, getPerson, type PersonCaller, type RouteEnv } from './identity.ts';
import { accepts, createSessionId, createWrongType, mount, readHandling, readMediaType, readText } from './request.ts';
import {
	askEvents,
	askSession,
	askSessionInPath,
	findCaller,
	findCallerOrAdmin,
	findOriginal,
	findSessionId,
	toEventStream,
	toJson,
	toRunResponse,
	toSessionId,
} from './respond.ts';
import { passBody, peekAgent } from './upload.ts';

/** `/v1/sessions`: creates, reads, follows and cancels sessions, and sends messages (docs/api.md). */
export const sessionRoutes = [
	mount(endpoints.createSession, async (c) => {
		const body = c.req.valid('json');
		const { text, parts, attachments = [], ...rest } = body;
		const how = readHandling(c, body);
		const caller = getPerson(c);
		const { owner, by, role } = caller;
		assertOwnSession(caller, rest);
		const user = rest.user ?? by.user;
		const isEmpty = text === undefined && parts === undefined && attachments.length === 0;
		const input = isEmpty ? undefined : { text, parts, attachments, ...origin };
		const id = createSessionId(c, caller, rest.agent, how);
		const create = { ...rest, owner, user, by, role, input };
		const outcome = await askSession(c, id, (one) => one.create(create, how));
		const headers = { location: `${c.var.basePath}/v1/sessions/${id}`, 'cache-control': 'no-store' };
		return toRunResponse(outcome, { status: 201, headers });
	}),
	// This must be before the paths of a single session, which would match `import` as an id.
	mount(endpoints.importSession, async (c) => {
		const type = readMediaType(c.req.raw);
		const part = readPart(c);
		// The body is streamed, so only its length can show that a request with the same key is another request.
		const how = readHandling(c, part?.size ?? c.req.header('content-length'));
		const { user = getPerson(c).by.user } = c.req.valid('query');
		const take = async (body: Bytes) => {
			// All parts of an import go to the same session, and only the first one names the agent.
			const isPeeked = part === undefined && readConfig(c.env).hasAgentPlaces;
			const { agent, lines } = isPeeked ? await peekAgent(body) : { agent: '', lines: body };
			return importLines(c, { lines, part }, { how, user, agent });
		};
		if (type === 'application/x-ndjson') return passBody(c.req.raw, maxLines, take);
		if (type === 'application/json') return take(toLines(parseJson(await readText(c.req.raw, maxDocument))));
		throw createWrongType('application/json or application/x-ndjson', type);
	}),
	mount(endpoints.getSession, async (c) =>
		Response.json(await askSessionInPath(c, (one) => one.state(findCallerOrAdmin(c)))),
	),
	mount(endpoints.getRequest, async (c) => {
		const id = c.req.param('request');
		const { request, session } = readRequestId(id) ?? {};
		if (request === undefined || session === undefined) throw new RunletError('not_found', 'There is no such session.');
		const caller = getCallerOrAdmin(c, session);
		const found = await askSession(c, toSessionId(c, session), (one) => one.findRequest(caller, request));
		const path = `${c.var.basePath}/v1/sessions/${session}`;
		const page = `${c.var.basePath}/#/sessions/${session}`;
		const links = { session: path, messages: `${path}/messages`, export: `${path}/export`, page };
		return Response.json({ id, ...found, links });
	}),
	mount(endpoints.changeSession, async (c) =>
		Response.json(await askSessionInPath(c, (one) => one.change(findCaller(c), c.req.valid('json')))),
	),
	mount(endpoints.deleteSession, async (c) => {
		await askSessionInPath(c, (one) => one.delete(findCallerOrAdmin(c)));
		return c.body(null, 204);
	}),
	mount(endpoints.createToken, async (c) => {
		const token = await askSessionInPath(c, (one) => one.token(findCaller(c), c.req.valid('json')), true);
		return Response.json(token, { status: 201, headers: { 'cache-control': 'no-store' } });
	}),
	mount(endpoints.revokeToken, async (c) => {
		await askSessionInPath(c, (one) => one.revokeToken(findCaller(c), c.req.param('tokenId')));
		return c.body(null, 204);
	}),
	mount(messages.listMessages, async (c) =>
		toJson(await askSessionInPath(c, (one) => one.messages(findCallerOrAdmin(c), c.req.valid('query')))),
	),
	mount(messages.sendMessage, (c) => {
		const input = c.req.valid('json');
		return run(c, (one) => one.send(findCaller(c), { ...input, ...origin }, readHandling(c, input)));
	}),
	mount(messages.getMessage, async (c) =>
		toJson(
			await askSessionInPath(c, (one) =>
				one.message(findCallerOrAdmin(c), check(place, c.req.param('message'), 'message')),
			),
		),
	),
	mount(endpoints.listTasks, async (c) => toJson(await askSessionInPath(c, (one) => one.tasks(findCallerOrAdmin(c))))),
	mount(messages.listWaiting, async (c) =>
		toJson(await askSessionInPath(c, (one) => one.waiting(findCallerOrAdmin(c)))),
	),
	mount(messages.removeWaiting, async (c) => {
		await askSessionInPath(c, (one) => one.removeWaiting(findCaller(c), c.req.param('runId')));
		return c.body(null, 204);
	}),
	mount(messages.answerQuestion, (c) => {
		const input = c.req.valid('json');
		return run(c, (one) => one.answer(findCaller(c), { ...input, ...origin }, readHandling(c, input)));
	}),
	mount(messages.submitResults, (c) => {
		const answers = c.req.valid('json');
		return run(c, (one) => one.submit(findCaller(c), answers, readHandling(c, answers)));
	}),
	mount(messages.continueRun, (c) => run(c, (one) => one.continue(findCaller(c), readHandling(c)))),
	mount(messages.stepRun, (c) => run(c, (one) => one.continue(findCaller(c), readHandling(c), 'step'))),
	mount(messages.followRun, async (c) => {
		const events = await askEvents(c, findSessionId(c), (one) =>
			one.events(findCallerOrAdmin(c), c.req.header('last-event-id'), undefined, c.req.valid('query').from),
		);
		return events === undefined ? c.body(null, 204) : toEventStream(events);
	}),
	mount(messages.cancelRun, async (c) => {
		const { once } = readHandling(c);
		const cancelled: RepeatableSession = await askSessionInPath(c, (one) => one.cancel(findCaller(c), once), true);
		const { isReplay, ...session } = cancelled;
		return toRunResponse({ kind: 'session', session, isReplay });
	}),
	mount(endpoints.exportSession, async (c) => {
		const form = accepts(c, 'application/x-ndjson') ? 'ndjson' : 'json';
		const { cursor } = c.req.valid('query');
		if (cursor !== undefined && form === 'json')
			throw createFieldError(
				'invalid_request',
				'cursor',
				'only lines have cursors. Send Accept: application/x-ndjson.',
			);
		const body = await askSessionInPath(c, (one) => one.export(findCallerOrAdmin(c), form, undefined, cursor));
		return new Response(body, {
			headers: {
				'content-type': form === 'json' ? 'application/json' : 'application/x-ndjson',
				// A browser saves the export under this name.
				'content-disposition': `attachment; filename="session-${findSessionId(c)}.${form}"`,
				'cache-control': 'no-store',
				vary: 'accept',
			},
		});
	}),
	mount(endpoints.getTrace, async (c) => {
		const { run, content } = c.req.valid('query');
		const form = { run, hasContent: content === 'true' };
		const body = await askSessionInPath(c, (one) => one.exportTrace(findCallerOrAdmin(c), form));
		return toJson(body, { 'cache-control': 'no-store' });
	}),
	mount(endpoints.forkSession, async (c) => {
		const { at } = c.req.valid('json');
		const { user, agent } = await askSessionInPath(c, (one) => one.state(findCaller(c)), true);
		const original = findOriginal(c, at === undefined ? undefined : Number(at));
		return importLines(c, {}, { how: readHandling(c, at), user, agent, original });
	}),
];

/** The origin of messages over HTTP. */
const origin = { transport: 'http' } as const;

/** Throws `forbidden` for a customer who names another person, or who sets a field that only staff can set. */
function assertOwnSession({ by, role }: PersonCaller, body: v.InferOutput<typeof endpoints.createSession.json>): void {
	if (hasRight(role, 'nameUser')) return;
	if (body.user !== undefined && body.user !== by.user) assertRight(role, 'nameUser', 'user');
	if (body.for !== undefined) assertRight(role, 'nameUser', 'for');
	if (body.metadata !== undefined) assertRight(role, 'nameUser', 'metadata');
}

async function run(c: Context<RouteEnv>, call: (one: SessionApi) => Promise<RpcResult<RunOutcome>>): Promise<Response> {
	return toRunResponse(await askSessionInPath(c, call));
}

interface ImportRequest extends Pick<ImportOwner, 'user' | 'original'> {
	readonly how: Handling;
	/** Decides where the session lives. */
	readonly agent: string;
}

async function importLines(
	c: Context<RouteEnv>,
	{ lines, part }: { readonly lines?: Bytes; readonly part?: ImportPart },
	{ how, agent, ...about }: ImportRequest,
): Promise<Response> {
	const caller = getPerson(c);
	const id = createSessionId(c, caller, agent, how);
	const importer = { ...caller, ...about, once: how.once };
	// Lines are sent only once.
	const isSafe = lines === undefined && how.once !== undefined;
	const session = await askSession(c, id, (one) => one.import(importer, lines, part), isSafe);
	if ('offset' in session) return Response.json(session, { status: 202 });
	const headers = { location: `${c.var.basePath}/v1/sessions/${id}`, 'cache-control': 'no-store' };
	return Response.json(session, { status: 201, headers });
}

/** Reads which part of an import a request brings (RFC 9110, 14.4). */
function readPart(c: Context<RouteEnv>): (ImportPart & { readonly size: string }) | undefined {
	const header = c.req.header('content-range');
	if (header === undefined) return undefined;
	const [match, from, to, size = ''] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/.exec(header) ?? [];
	if (match === undefined)
		throw createFieldError('invalid_request', 'Content-Range', 'expected bytes FIRST-LAST/SIZE, or bytes */SIZE.');
	if (c.req.header('idempotency-key') === undefined)
		throw createFieldError('invalid_request', 'Idempotency-Key', 'missing. All parts of an import have the same one.');
	return { from: from === undefined ? undefined : Number(from), isLast: Number(to) + 1 === Number(size), size };
}

function toLines(document: unknown): Bytes {
	const encoder = new TextEncoder();
	const records = toRecords(document);
	return new ReadableStream({
		type: 'bytes',
		pull: (controller) => {
			const { done, value } = records.next();
			if (done) controller.close();
			else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
		},
	});
}
