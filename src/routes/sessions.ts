import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { budgetSchema, expirySchema } from '../agents/index.ts';
import { longestTokenSeconds, tokenSeconds } from '../auth/token.ts';
import { check } from '../check.ts';
import { config } from '../config.ts';
import type { Listed } from '../directory/api.ts';
import { isCursor } from '../directory/cursor.ts';
import { RunletError } from '../errors.ts';
import type { Caller, SessionApi } from '../session/api.ts';
import { attachmentsField } from './attachments.ts';
import { callerOf, ownerOf, type RouteEnv } from './identity.ts';
import { handlingOf, jsonBody, notAllowed } from './request.ts';
import { fileUrlField } from './url.ts';

/** Characters of one message's text. */
const maxText = 1_000_000;

const textField = v.pipe(
	v.string(),
	v.check((text) => text.trim() !== '', 'must not be empty'),
	v.maxLength(maxText, ({ received }) => `at most ${maxText} characters, got ${received}`),
);
const part = v.strictObject({
	kind: v.picklist(['text', 'image', 'audio', 'file']),
	text: v.optional(v.pipe(v.string(), v.maxLength(maxText))),
	mime: v.optional(v.pipe(v.string(), v.regex(/^[\w.+-]+\/[\w.+-]+$/, 'Expected a media type such as image/png'))),
	data: v.optional(v.pipe(v.string(), v.base64())),
	url: v.optional(fileUrlField),
	name: v.optional(v.pipe(v.string(), v.maxLength(255))),
});
const content = {
	text: v.optional(textField),
	parts: v.optional(v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(32), v.array(part))),
};
const modelField = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));
const both = 'give text or parts, not both';

const messageBody = v.pipe(
	v.strictObject({
		...content,
		attachments: attachmentsField,
		model: modelField,
		whenBusy: v.optional(v.picklist(['queue', 'reject', 'steer'])),
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, both),
		['text'],
	),
	v.forward(
		v.check(
			({ text, parts, attachments = [] }) => text !== undefined || parts !== undefined || attachments.length > 0,
			'missing. Give text, parts or attachments',
		),
		['text'],
	),
);
const answerBody = v.pipe(
	v.strictObject(content),
	v.forward(
		v.check(({ text, parts }) => (text === undefined) !== (parts === undefined), 'give text or parts, one of them'),
		['text'],
	),
);
const callId = v.pipe(v.string(), v.nonEmpty());
const resultEntry = v.strictObject({ id: callId, output: v.unknown(), isError: v.optional(v.boolean()) });
const approvalEntry = v.strictObject({
	id: callId,
	approve: v.boolean(),
	reason: v.optional(v.pipe(v.string(), v.maxLength(2_000))),
});
/** Results in one request: more than a turn's calls would be a mistake. */
const resultsBody = v.pipe(
	v.array(v.unknown(), 'must be a list of results, [{ "id", "output" }], or of approvals, [{ "id", "approve" }]'),
	v.minLength(1, 'must hold a result'),
	v.maxLength(1_000),
	v.array(
		v.lazy((entry) =>
			typeof entry === 'object' && entry !== null && 'approve' in entry ? approvalEntry : resultEntry,
		),
	),
);
const sessionBody = v.pipe(
	v.strictObject({
		agent: v.pipe(v.string(), v.nonEmpty()),
		model: modelField,
		metadata: v.optional(
			v.pipe(
				v.record(v.string(), v.unknown()),
				v.maxEntries(16),
				v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
			),
		),
		budget: v.optional(budgetSchema),
		expiresAfterMs: v.optional(expirySchema),
		...content,
		attachments: attachmentsField,
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, both),
		['text'],
	),
);
const tokenBody = v.strictObject({
	expiresInSeconds: v.optional(
		v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(longestTokenSeconds)),
		tokenSeconds,
	),
});
const changeBody = v.strictObject({ budget: budgetSchema });
const place = v.pipe(v.string(), v.regex(/^\d{1,15}$/, 'Expected a cursor that this route gave'), v.transform(Number));
const count = (most: number) =>
	v.pipe(v.string(), v.regex(/^\d{1,4}$/, 'Expected a number'), v.transform(Number), v.minValue(1), v.maxValue(most));
const pageQuery = v.object({ cursor: v.optional(place), limit: v.optional(count(500)) });
const listQuery = v.object({
	cursor: v.optional(v.pipe(v.string(), v.check(isCursor, 'Expected a cursor that this route gave'))),
	limit: v.optional(count(100), '20'),
});

/** `/v1/sessions`: create, list, look at, talk to, follow and cancel a session (design.md, "The wire"). */
export const sessions = new Hono<RouteEnv>()
	.post('/', async (c) => {
		const body = await jsonBody(c.req.raw, sessionBody);
		const { text, parts, attachments = [], ...rest } = body;
		const how = handlingOf(c, body);
		const { sessions } = config(c.env);
		const owner = ownerOf(c);
		const isEmpty = text === undefined && parts === undefined && attachments.length === 0;
		const input = isEmpty ? undefined : { text, parts, attachments, ...originOf(c) };
		// A request that comes again finds the session that it made by its key.
		const id =
			how.once === undefined ? sessions.newUniqueId() : sessions.idFromName(`idempotency ${owner} ${how.once.key}`);
		return sessions.get(id).create({ ...rest, owner, input }, how);
	})
	.get('/', async (c) => {
		const page = check(listQuery, c.req.query(), 'query');
		const { directories } = config(c.env);
		const { sessions, cursor } = await directories.get(directories.idFromName(ownerOf(c))).list(page);
		return c.json({ sessions: sessions.map(wireListed), cursor });
	})
	.all('/', notAllowed('GET', 'POST'))
	.get('/:id', (c) => session(c).state(caller(c)))
	.patch('/:id', async (c) => session(c).change(caller(c), await jsonBody(c.req.raw, changeBody)))
	.delete('/:id', (c) => session(c).delete(caller(c)))
	.all('/:id', notAllowed('GET', 'PATCH', 'DELETE'))
	.post('/:id/token', async (c) => {
		const { expiresInSeconds } = await jsonBody(c.req.raw, tokenBody);
		return session(c).token(caller(c), expiresInSeconds);
	})
	.all('/:id/token', notAllowed('POST'))
	.get('/:id/messages', (c) => session(c).messages(caller(c), check(pageQuery, c.req.query(), 'query')))
	.post('/:id/messages', async (c) => {
		const input = await jsonBody(c.req.raw, messageBody);
		return session(c).send(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input));
	})
	.all('/:id/messages', notAllowed('GET', 'POST'))
	.get('/:id/messages/:message', (c) => session(c).message(caller(c), check(place, c.req.param('message'), 'message')))
	.all('/:id/messages/:message', notAllowed('GET'))
	.post('/:id/answer', async (c) => {
		const input = await jsonBody(c.req.raw, answerBody);
		return session(c).answer(caller(c), { ...input, ...originOf(c) }, handlingOf(c, input));
	})
	.all('/:id/answer', notAllowed('POST'))
	.post('/:id/tool-results', async (c) => {
		const answers = await jsonBody(c.req.raw, resultsBody);
		return session(c).submit(caller(c), answers, handlingOf(c, answers));
	})
	.all('/:id/tool-results', notAllowed('POST'))
	.post('/:id/continue', (c) => session(c).continue(caller(c), handlingOf(c)))
	.all('/:id/continue', notAllowed('POST'))
	.post('/:id/step', (c) => session(c).continue(caller(c), handlingOf(c), 'step'))
	.all('/:id/step', notAllowed('POST'))
	.get('/:id/events', (c) => session(c).events(caller(c), c.req.header('last-event-id')))
	.all('/:id/events', notAllowed('GET'))
	.post('/:id/cancel', (c) => session(c).cancel(caller(c), handlingOf(c)))
	.all('/:id/cancel', notAllowed('POST'));

/** Where a message of a request comes from. */
function originOf(c: Context<RouteEnv>): { readonly sender?: string; readonly transport: string } {
	const { identity } = c.var;
	return { ...(identity.kind === 'key' && { sender: identity.owner }), transport: 'http' };
}

function caller(c: Context<RouteEnv>): Caller {
	return callerOf(c, c.req.param('id') ?? '');
}

/** A listed session as the wire has it. */
function wireListed({ createdAt, activeAt, ...rest }: Listed) {
	return { ...rest, createdAt: new Date(createdAt).toISOString(), lastActivityAt: new Date(activeAt).toISOString() };
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
