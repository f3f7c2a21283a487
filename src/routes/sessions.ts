import { type Context, Hono } from 'hono';
import { check } from '../check.ts';
import { config } from '../config.ts';
import { RunletError } from '../errors.ts';
import type { Caller, SessionApi } from '../session/api.ts';
import * as operations from '../wire/operations/sessions.ts';
import { place } from '../wire/page.ts';
import { tokenSeconds } from '../wire/token.ts';
import { anyCallerOf, callerOf, ownerOf, type RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { handlingOf, newSessionId, notAllowed } from './request.ts';
import { listSessions } from './session-list.ts';

/** `/v1/sessions`: create, list, look at, talk to, follow and cancel a session (design.md, "The wire"). */
export const sessions = new Hono<RouteEnv>()
	.post('/', serves(operations.createSession), (c) => {
		const body = c.req.valid('json');
		const { text, parts, attachments = [], ...rest } = body;
		const how = handlingOf(c, body);
		const { sessions } = config(c.env);
		const owner = ownerOf(c);
		const isEmpty = text === undefined && parts === undefined && attachments.length === 0;
		const input = isEmpty ? undefined : { text, parts, attachments, ...originOf(c) };
		return sessions.get(newSessionId(c, owner, how)).create({ ...rest, owner, input }, how);
	})
	.get('/', serves(operations.listSessions), async (c) => c.json(await listSessions(c, c.req.valid('query'))))
	.all('/', notAllowed('GET', 'POST'))
	.get('/:id', serves(operations.getSession), (c) => session(c).state(anyCaller(c)))
	.patch('/:id', serves(operations.changeSession), (c) => session(c).change(caller(c), c.req.valid('json')))
	.delete('/:id', serves(operations.deleteSession), (c) => session(c).delete(anyCaller(c)))
	.all('/:id', notAllowed('GET', 'PATCH', 'DELETE'))
	.post('/:id/token', serves(operations.createToken), (c) => {
		const { expiresInSeconds = tokenSeconds } = c.req.valid('json');
		return session(c).token(caller(c), expiresInSeconds);
	})
	.all('/:id/token', notAllowed('POST'))
	.get('/:id/messages', serves(operations.listMessages), (c) => session(c).messages(anyCaller(c), c.req.valid('query')))
	.post('/:id/messages', serves(operations.sendMessage), (c) => {
		const input = c.req.valid('json');
		return session(c).send(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input));
	})
	.all('/:id/messages', notAllowed('GET', 'POST'))
	.get('/:id/messages/:message', serves(operations.getMessage), (c) =>
		session(c).message(anyCaller(c), check(place, c.req.param('message'), 'message')),
	)
	.all('/:id/messages/:message', notAllowed('GET'))
	.post('/:id/answer', serves(operations.answerQuestion), (c) => {
		const input = c.req.valid('json');
		return session(c).answer(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input));
	})
	.all('/:id/answer', notAllowed('POST'))
	.post('/:id/tool-results', serves(operations.submitResults), (c) => {
		const answers = c.req.valid('json');
		return session(c).submit(caller(c), answers, handlingOf(c, answers));
	})
	.all('/:id/tool-results', notAllowed('POST'))
	.post('/:id/continue', serves(operations.continueRun), (c) => session(c).continue(caller(c), handlingOf(c)))
	.all('/:id/continue', notAllowed('POST'))
	.post('/:id/step', serves(operations.stepRun), (c) => session(c).continue(caller(c), handlingOf(c), 'step'))
	.all('/:id/step', notAllowed('POST'))
	.get('/:id/events', serves(operations.followRun), (c) =>
		session(c).events(anyCaller(c), c.req.header('last-event-id')),
	)
	.all('/:id/events', notAllowed('GET'))
	.post('/:id/cancel', serves(operations.cancelRun), (c) => session(c).cancel(caller(c), handlingOf(c)))
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

/** The object of the session that the path names. An id is the object's own, so a made-up one reaches no object. */
function session(c: Context<RouteEnv>): SessionApi {
	const { sessions } = config(c.env);
	try {
		return sessions.get(sessions.idFromString(c.req.param('id') ?? ''));
	} catch {
		throw new RunletError('not_found', 'There is no such session.');
	}
}
