import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { localIdentity } from '../auth/identity.ts';
import { readConfig } from '../config/config.ts';
import { askLedger } from '../objects/ledger/api.ts';
import { getUsage } from '../wire/operations/usage.ts';
import { getListedOwner, isAdmin, isOnlyLocal, type RouteEnv } from './identity.ts';
import { serveOperation } from './operation.ts';
import { refuseMethod } from './request.ts';
import { findOwners } from './session-list.ts';

/** How many ledgers are asked in parallel. */
const atOnce = 16;

/** `/v1/usage`: shows what the owners spent, by day. */
export const usage = new Hono<RouteEnv>()
	.get('/', serveOperation(getUsage), async (c) => {
		const { owner, user, days } = c.req.valid('query');
		const { sessionBudget: session, dayBudget: day } = readConfig(c.env);
		const owners = await findSpenders(c, owner);
		const found = [];
		for (let from = 0; from < owners.length; from += atOnce)
			found.push(
				...(await Promise.all(
					owners.slice(from, from + atOnce).map((name) => listDays(c, name, { user, count: days })),
				)),
			);
		const newestFirst = found.flat().sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
		return c.json({ budgets: { session, day }, usage: newestFirst });
	})
	.all('/', refuseMethod('GET'));

/** Returns the owners whose spending a caller may see: with the scope admin all of them, else its own. */
async function findSpenders(c: Context<RouteEnv>, asked: string | undefined): Promise<readonly string[]> {
	if (asked !== undefined || !isAdmin(c)) return [getListedOwner(c, asked)];
	const local = isOnlyLocal(c) ? [localIdentity.by.owner] : [];
	return [...new Set([...(await findOwners(c)), ...local])].sort();
}

interface Listed {
	/** The user whose spending is listed; that of the whole owner if it is missing. */
	readonly user: string | undefined;
	readonly count: number;
}

async function listDays(c: Context<RouteEnv>, owner: string, { user, count }: Listed) {
	const { ledgers, storedKeys, findDayBudget } = readConfig(c.env);
	const [days] = await Promise.all([
		askLedger(
			() => ledgers.get(ledgers.idFromName(owner)),
			(one) => (user === undefined ? one.days(count) : one.userDays(user, count)),
		),
		storedKeys?.refreshOwner(owner),
	]);
	const limit = user === undefined ? findDayBudget(owner) : {};
	return days.map((day) => ({ owner, ...(user !== undefined && { user }), ...day, limit }));
}
