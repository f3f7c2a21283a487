import type { Context } from 'hono';
import { RunletError } from '../../core/ground/errors.ts';
import { parseJson } from '../../core/ground/json.ts';
import type { Bytes } from '../objects/result.ts';
import type { Handling } from '../objects/session-api.ts';
import { maxDocument, maxLines, toRecords } from '../wire/import.ts';
import * as operations from '../wire/operations/sessions.ts';
import { askSession, askSessionInPath, findCaller, findCallerOrAdmin, findSessionId } from './ask-session.ts';
import { getPerson, type RouteEnv } from './identity.ts';
import { mount } from './mount.ts';
import { accepts, createSessionId, readHandling, readMediaType, readText } from './request.ts';
import { passBody } from './upload.ts';

/** Copies of sessions: `/v1/sessions/:id/export` and `/fork`, and `/v1/sessions/import` (docs/sessions.md). */
export const copyRoutes = [
	mount(operations.exportSession, async (c) => {
		const form = accepts(c, 'application/x-ndjson') ? 'ndjson' : 'json';
		const body = await askSessionInPath(c, (one) => one.export(findCallerOrAdmin(c), form));
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
	mount(operations.forkSession, async (c) => {
		const { at } = c.req.valid('json');
		const place = at === undefined ? undefined : Number(at);
		const { user } = await askSessionInPath(c, (one) => one.state(findCaller(c)), true);
		const lines = await askSessionInPath(c, (one) => one.export(findCaller(c), 'ndjson', place), true);
		return importLines(c, lines, { how: readHandling(c, at), user, isFork: true });
	}),
	mount(operations.importSession, async (c) => {
		const type = readMediaType(c.req.raw);
		// The body is read as it comes. A repeated request is told from another one by its length only.
		const how = readHandling(c, c.req.header('content-length'));
		const { user = getPerson(c).by.user } = c.req.valid('query');
		const about = { how, user };
		if (type === 'application/x-ndjson') return passBody(c.req.raw, maxLines, (body) => importLines(c, body, about));
		if (type === 'application/json')
			return importLines(c, toLines(parseJson(await readText(c.req.raw, maxDocument))), about);
		const expected = 'expected application/json or application/x-ndjson';
		throw new RunletError('unsupported_media_type', `content-type: ${expected}, got ${type || 'none'}.`, {
			field: 'content-type',
		});
	}),
];

/** Makes a session of the lines of an export, for a user. */
async function importLines(
	c: Context<RouteEnv>,
	lines: Bytes,
	{ how, user, isFork }: { readonly how: Handling; readonly user: string | undefined; readonly isFork?: boolean },
): Promise<Response> {
	const caller = getPerson(c);
	const id = createSessionId(c, caller, how);
	const importer = { ...caller, user, isFork, once: how.once };
	const session = await askSession(c, id, (one) => one.import(importer, lines), false);
	const headers = { location: `${c.var.basePath}/v1/sessions/${id}`, 'cache-control': 'no-store' };
	return Response.json(session, { status: 201, headers });
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
