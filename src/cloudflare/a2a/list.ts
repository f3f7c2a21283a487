import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { sessionIdForm } from '../auth/token.ts';
import { readConfig } from '../config/config.ts';
import { askAll, listSessions } from '../objects/directory/all.ts';
import type { FoundRun } from '../objects/session-api.ts';
import { findChat } from '../routes/find-chat.ts';
import { getCaller, getListedUser, getOwner } from '../routes/identity.ts';
import { askOneSession, orGone } from '../routes/respond.ts';
import { cursor as cursorForm, sessionCursor } from '../wire/page.ts';
import type { listParams } from '../wire/protocols/a2a/params.ts';
import { toState } from '../wire/protocols/a2a/show.ts';
import type { Call } from './call.ts';
import { type FoundTask, readContext, showTask } from './tasks.ts';

type Params = v.InferOutput<typeof listParams>;

/** The most tasks of a context that are looked at. */
const mostTasks = 500;

/** Lists the tasks of a context, or the newest task of each context that the caller sees, the newest first. */
export async function listTasks(call: Call, params: Params) {
	const { pageSize, historyLength, includeArtifacts } = params;
	const limit = pageSize ?? 50;
	const { found, total, next } = await findPage(call, params, limit);
	const how = { historyLength: historyLength ?? 0, hasContent: includeArtifacts === true };
	const tasks = await askAll(found, async (task) => {
		const { artifacts = [], ...shown } = await showTask(call, task, how);
		return [includeArtifacts === true ? { ...shown, artifacts } : shown];
	});
	return { tasks, totalSize: total, pageSize: tasks.length, nextPageToken: next ?? '' };
}

interface TaskPage {
	readonly found: readonly FoundTask[];
	/** The number of all tasks. Of many contexts it counts only this page, and one more if there is another page. */
	readonly total: number;
	readonly next?: string;
}

async function findPage(call: Call, params: Params, limit: number): Promise<TaskPage> {
	const { c } = call;
	const { identity } = c.var;
	const contextId = params.contextId || (identity.kind === 'token' ? identity.session : undefined);
	const isWanted = createFilter(params);
	const form = contextId === undefined ? sessionCursor : /^\d{1,15}$/;
	const token = check(v.optional(cursorForm(form)), params.pageToken || undefined, 'pageToken');
	if (contextId === undefined) {
		const page = {
			agent: call.agent.name,
			limit,
			cursor: token,
			...getListedUser(c, undefined),
		};
		const { sessions, cursor } = await listSessions(readConfig(c.env), [getOwner(c)], page);
		const newest = await askAll(sessions, async ({ id }) =>
			findNewest(call, readConfig(c.env).sessions.idFromString(id)),
		);
		const found = newest.filter(isWanted).sort((a, b) => b.run.chain.since - a.run.chain.since);
		return { found, total: found.length + (cursor === undefined ? 0 : 1), next: cursor };
	}
	const found: FoundTask[] = [];
	// A list does not say that a session exists.
	if (identity.kind === 'token' && sessionIdForm.test(contextId) && contextId !== identity.session)
		return { found, total: 0 };
	const { id } = findChat(c, 'a2a', contextId);
	for (let run = 0; found.length < mostTasks; ) {
		const [task] = await findNewest(call, id, run);
		if (task === undefined) break;
		found.push({ ...task, head: { ...task.head, contextId } });
		run = task.run.chain.first - 1;
		if (run === 0) break;
	}
	const wanted = found.filter(isWanted);
	const from = Number(token ?? Number.POSITIVE_INFINITY);
	const rest = wanted.filter(({ head }) => head.run < from);
	const shown = rest.slice(0, limit);
	const next = rest.length > shown.length ? String(shown.at(-1)?.head.run) : undefined;
	return { found: shown, total: wanted.length, next };
}

/** Finds the newest task of a session, or that with a run. Returns nothing if there is none that the caller sees. */
async function findNewest({ c, agent }: Call, session: DurableObjectId, n = 0): Promise<FoundTask[]> {
	const name = session.toString();
	const caller = getCaller(c, name);
	const run: FoundRun | undefined = await orGone(
		askOneSession(c, session, (one) => one.findRun(caller, n, 'readSession'), true),
	);
	if (run === undefined || run.agent !== agent.name) return [];
	const head = { session: name, run: run.chain.first, contextId: readContext(run) ?? name };
	return [{ head, session, caller, run }];
}

function createFilter({ status, statusTimestampAfter }: Params): (task: FoundTask) => boolean {
	const after = statusTimestampAfter == null ? 0 : Date.parse(statusTimestampAfter);
	const state = status === 'TASK_STATE_UNSPECIFIED' ? undefined : status;
	return ({ run: { chain } }) => chain.since >= after && (state == null || toState(chain.status) === state);
}
