import type { SessionApi } from '../objects/session-api.ts';
import { rerun } from '../wire/endpoints/sessions.ts';
import { getPerson } from './identity.ts';
import { createSessionId, mount, readHandling } from './request.ts';
import { askSession, askSessionInPath, findCaller, findOriginal } from './respond.ts';

/** `POST /v1/sessions/:id/rerun`: a branch in which a message runs again (docs/sessions.md, "Rerun"). */
export const rerunRoute = mount(rerun, async (c) => {
	const body = c.req.valid('json');
	const { run, model, prompt } = body;
	const message = await askSessionInPath(c, (one) => one.findRunMessage(findCaller(c), run), true);
	const caller = getPerson(c);
	const how = readHandling(c, body);
	const { user, agent } = await askSessionInPath(c, (one) => one.state(findCaller(c)), true);
	const original = findOriginal(c);
	const id = createSessionId(c, caller, agent, how);
	const of = { session: original.session, run, message, prompt };
	const session = await askSession(c, id, (one) =>
		one.import({ ...caller, user, original, rerun: of, once: how.once }),
	);
	const once = how.once && { ...how.once, key: `run ${how.once.key}` };
	const input = { replaces: String(message), model, transport: 'http' };
	const begin = (one: SessionApi) => one.send(caller, input, { delivery: 'accepted', once, origin: how.origin });
	const outcome = await askSession(c, id, begin).catch(async (error) => {
		// A branch without a run is of no use.
		await askSession(c, id, (one) => one.delete(caller)).catch(() => {});
		throw error;
	});
	const headers = { location: `${c.var.basePath}/v1/sessions/${id}`, 'cache-control': 'no-store' };
	return Response.json({ ...session, runId: outcome.runId }, { status: 202, headers });
});
