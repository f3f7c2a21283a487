import { type Context, Hono } from 'hono';
import { check } from '../check.ts';
import { config } from '../config.ts';
import { RunletError } from '../errors.ts';
import type { Caller, SessionApi } from '../session/api.ts';
import * as operations from '../wire/operations/sessions.ts';
import { place } from '../wire/page.ts';
import { askSession } from './ask-session.ts';
import { anyCallerOf, callerOf, ownerOf, type RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { accepts, handlingOf, newSessionId, notAllowed } from './request.ts';
import { listSessions } from './session-list.ts';

/** `/v1/sessions`: create, list, look at, talk to, follow and cancel a session (design.md, "The wire"). */
export const sessions = new Hono<RouteEnv>()
	.post('/', serves(operations.createSession), (c) => {
		const body = c.req.valid('json');
		const { text, parts, attachments = [], ...rest } = body;
		const how = handlingOf(c, body);
		const owner = ownerOf(c);
		const { identity } = c.var;
		const keyId = identity.kind === 'key' ? identity.keyId : undefined;
		const isEmpty = text === undefined && parts === undefined && attachments.length === 0;
		const input = isEmpty ? undefined : { text, parts, attachments, ...originOf(c) };
		return askSession(c, newSessionId(c, owner, how), (one) => one.create({ ...rest, owner, keyId, input }, how));
	})
	.get('/', serves(operations.listSessions), async (c) => c.json(await listSessions(c, c.req.valid('query'))))
	.all('/', notAllowed('GET', 'POST'))
	.get('/:id', serves(operations.getSession), (c) => session(c, (one) => one.state(anyCaller(c))))
	.patch('/:id', serves(operations.changeSession), (c) =>
		session(c, (one) => one.change(caller(c), c.req.valid('json'))),
	)
	.delete('/:id', serves(operations.deleteSession), (c) => session(c, (one) => one.delete(anyCaller(c))))
	.all('/:id', notAllowed('GET', 'PATCH', 'DELETE'))
	.get('/:id/export', serves(operations.exportSession), (c) => {
		const form = accepts(c, 'application/x-ndjson') ? 'ndjson' : 'json';
		return session(c, (one) => one.export(anyCaller(c), form));
	})
	.all('/:id/export', notAllowed('GET'))
	.post('/:id/token', serves(operations.createToken), (c) =>
		session(c, (one) => one.token(caller(c), c.req.valid('json')), true),
	)
	.all('/:id/token', notAllowed('POST'))
	.delete('/:id/token/:tokenId', serves(operations.revokeToken), (c) =>
		session(c, (one) => one.revokeToken(caller(c), c.req.param('tokenId'))),
	)
	.all('/:id/token/:tokenId', notAllowed('DELETE'))
	.get('/:id/messages', serves(operations.listMessages), (c) =>
		session(c, (one) => one.messages(anyCaller(c), c.req.valid('query'))),
	)
	.post('/:id/messages', serves(operations.sendMessage), (c) => {
		const input = c.req.valid('json');
		return session(c, (one) => one.send(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input)));
	})
	.all('/:id/messages', notAllowed('GET', 'POST'))
	.get('/:id/messages/:message', serves(operations.getMessage), (c) =>
		session(c, (one) => one.message(anyCaller(c), check(place, c.req.param('message'), 'message'))),
	)
	.all('/:id/messages/:message', notAllowed('GET'))
	.post('/:id/answer', serves(operations.answerQuestion), (c) => {
		const input = c.req.valid('json');
		return session(c, (one) => one.answer(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input)));
	})
	.all('/:id/answer', notAllowed('POST'))
	.post('/:id/tool-results', serves(operations.submitResults), (c) => {
		const answers = c.req.valid('json');
		return session(c, (one) => one.submit(caller(c), answers, handlingOf(c, answers)));
	})
	.all('/:id/tool-results', notAllowed('POST'))
	.post('/:id/continue', serves(operations.continueRun), (c) =>
		session(c, (one) => one.continue(caller(c), handlingOf(c))),
	)
	.all('/:id/continue', notAllowed('POST'))
	.post('/:id/step', serves(operations.stepRun), (c) =>
		session(c, (one) => one.continue(caller(c), handlingOf(c), 'step')),
	)
	.all('/:id/step', notAllowed('POST'))
	.get('/:id/events', serves(operations.followRun), (c) =>
		session(c, (one) => one.events(anyCaller(c), c.req.header('last-event-id'))),
	)
	.all('/:id/events', notAllowed('GET'))
	.post('/:id/cancel', serves(operations.cancelRun), (c) =>
		session(c, (one) => one.cancel(caller(c), handlingOf(c)), true),
	)
	.all('/:id/cancel', notAllowed('POST'));

/** Where a message of a request comes from. */
function originOf(c: Context<RouteEnv>): { readonly sender?: string; readonly transport: string } {
	const { identity } = c.var;
	return { ...(identity.kind === 'key' && { sender: identity.owner }), transport: 'http' };
}

function caller(c: Context<RouteEnv>): Caller {
	return callerOf(c, c.req.param('id') ?? '');
}

/** Who may be an admin, who reads or removes what is somebody else's. */
function anyCaller(c: Context<RouteEnv>): Caller {
	return anyCallerOf(c, c.req.param('id') ?? '');
}

/** Asks the session that the path names. An id is an object's own, so a made-up one reaches no object. */
function session(
	c: Context<RouteEnv>,
	ask: (one: SessionApi) => Promise<Response>,
	isSafe?: boolean,
): Promise<Response> {
	return askSession(c, sessionId(c), ask, isSafe);
}

function sessionId(c: Context<RouteEnv>) {
	const { sessions } = config(c.env);
	try {
		return sessions.idFromString(c.req.param('id') ?? '');
	} catch {
		throw new RunletError('not_found', 'There is no such session.');
	}
}
