import type { Actor } from '../../core/base/actor.ts';
import { RunletError, toMessageText } from '../../core/base/errors.ts';
import type { LastWake } from '../../core/tool/index.ts';
import type { SchedulerOptions } from '../agent/schedule-connector.ts';
import type { ActiveSession, AgentSchedule } from '../agent/schedules.ts';
import type { Config } from '../config/config.ts';
import { type BudgetState, isBounded } from '../objects/budget.ts';
import { type Directories, listSessions } from '../objects/directory/all.ts';
import { askUserLedger, readState } from '../objects/ledger/owner.ts';
import { reach, takeValue, usualLimitMs } from '../objects/reach.ts';
import type { CreateInput, SessionApi } from '../objects/session-api.ts';
import { toSessionName } from '../routes/respond.ts';
import type { DueSchedule } from './rows.ts';

const mostListed = 100;

/** `gone`: the schedule or its session does not exist any more. */
export type Woken = 'gone' | Omit<LastWake, 'at'>;

/** Wakes the session of a schedule. The message's key has the due time or the request, so a retry begins no second run. */
export async function wake(
	due: DueSchedule,
	{ agents, config }: Pick<SchedulerOptions, 'agents' | 'config'>,
	findSpent: FindSpent,
): Promise<Woken> {
	const read = config();
	const definition = findDefinition(due, agents);
	const isOwners = (definition?.owner ?? read.scheduleOwner) === due.owner && definition?.user === due.user;
	if (due.target.kind === 'agent' && !(definition !== undefined && isOwners)) return 'gone';
	const spent = await findSpent(due);
	if (spent !== undefined) return skip(`the budget of ${spent} is spent`);
	const text = await findText(due, definition, read);
	if (typeof text !== 'string') return text;
	return send(due, text, definition, read);
}

function findDefinition({ target, name }: DueSchedule, agents: SchedulerOptions['agents']) {
	if (target.kind === 'session') return undefined;
	return agents.find((one) => one.name === target.agent)?.schedules?.find((one) => one.name === name);
}

/** Finds a spent budget of a schedule. A schedule with a spent budget wakes no session. */
export type FindSpent = (whose: Pick<DueSchedule, 'owner' | 'user'>) => Promise<string | undefined>;

/** Makes a function that asks the ledger once for each user. */
export function createSpentFinder(config: Config): FindSpent {
	const asked = new Map<string, Promise<string | undefined>>();
	return (whose) => {
		const key = JSON.stringify([whose.owner, whose.user]);
		const answer = asked.get(key) ?? askSpent(whose, config);
		asked.set(key, answer);
		return answer;
	};
}

async function askSpent(
	{ owner, user }: Pick<DueSchedule, 'owner' | 'user'>,
	config: Config,
): Promise<string | undefined> {
	const isSpent = ({ left }: Pick<BudgetState, 'left'>) => left.tokens === 0 || left.usd === 0;
	await config.storedKeys?.refreshOwner(owner);
	const dayLimit = config.findDayBudget(owner);
	if (isBounded(dayLimit) && isSpent(await readState(config, { owner }, { scope: 'day', dayLimit }))) return 'the day';
	if (user === undefined) return undefined;
	const { daily, total } = await askUserLedger(config, { owner, user }, (one) => one.userState(user));
	return isSpent(daily) || isSpent(total) ? 'the user' : undefined;
}

/** Returns the message, or the outcome if there is no message. */
async function findText(
	{ dueAt, name, owner, user, text = '' }: DueSchedule,
	definition: AgentSchedule | undefined,
	config: Pick<Config, 'env'> & Directories,
): Promise<string | Woken> {
	if (definition?.fn === undefined) return definition?.text ?? text;
	const listSessions = (since: Date) => listActive(config, owner, since);
	try {
		const written = await definition.fn({ at: new Date(dueAt), name, owner, user, env: config.env, listSessions });
		if (written === undefined || written === '') return skip('its function gave no text');
		if (typeof written === 'string') return written;
		throw new Error(`its function gave ${typeof written}, and not a text`);
	} catch (cause) {
		// This is a mistake of the project's function. The function is not called again for this time.
		return { outcome: 'failed', reason: toMessageText(cause).slice(0, 500) };
	}
}

async function listActive(all: Directories, owner: string, since: Date): Promise<ActiveSession[]> {
	const { sessions } = await listSessions(all, [owner], { limit: mostListed });
	return sessions
		.filter(({ activeAt }) => activeAt >= since.getTime())
		.map(({ owner: _, ...session }) => ({
			...session,
			createdAt: new Date(session.createdAt),
			activeAt: new Date(session.activeAt),
		}));
}

async function send(due: DueSchedule, text: string, definition: AgentSchedule | undefined, config: Config) {
	const { sessions, placeSessions } = config;
	const { target, owner, user, name, askers, dueAt, request = dueAt } = due;
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'schedule', id: name };
	const create: CreateInput | undefined =
		target.kind === 'agent' ? { agent: target.agent, owner, user, by } : undefined;
	const which = definition?.session === 'new' ? `${name} ${request}` : name;
	const findId = () => {
		if (target.kind === 'session') return sessions.idFromString(target.session);
		const { agent } = target;
		return placeSessions({ owner, agent }).idFromName(toSessionName({ owner, user }, 'schedule', agent, which));
	};
	const input = { text, askers, transport: 'schedule', isPatient: true, create };
	const once = { key: `schedule ${name} ${request}`, request: 'schedule' };
	const call = (one: SessionApi) => one.send({ owner, by }, input, { delivery: 'accepted', once });
	let sessionId: string | undefined;
	try {
		const id = findId();
		sessionId = id.toString();
		const ask = { what: 'The session of a schedule', isSafe: true, timeoutMs: usualLimitMs };
		const outcome = takeValue(await reach(() => call(sessions.get(id)), ask));
		const runId = outcome.kind === 'accepted' ? outcome.runId : undefined;
		return { outcome: 'ran', sessionId, ...(runId && { runId }) } as const;
	} catch (cause) {
		if (!(cause instanceof RunletError)) throw cause;
		if (cause.status === 404 && target.kind === 'session') return 'gone';
		if (cause.status === 409) return { ...skip('too many messages wait for the session'), sessionId };
		if (cause.code === 'budget_exceeded') return { ...skip('the budget is spent'), sessionId };
		if (cause.status < 500) return { outcome: 'failed', reason: cause.message, sessionId } as const;
		throw cause;
	}
}

function skip(reason: string) {
	return { outcome: 'skipped', reason } as const;
}
