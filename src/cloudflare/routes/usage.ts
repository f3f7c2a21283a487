import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { localIdentity } from '../auth/identity.ts';
import { readConfig } from '../config/config.ts';
import { askLedger } from '../objects/ledger/api.ts';
import { getUsage } from '../wire/operations/usage.ts';
import { isOnlyLocal, type RouteEnv } from './identity.ts';
import { serveOperation } from './operation.ts';
import { refuseMethod } from './request.ts';
import { findOwners } from './session-list.ts';

/** How many ledgers are asked in parallel. */
const atOnce = 16;

/** `/v1/usage`: shows what the owners spent, by day. */
export const usage = new Hono<RouteEnv>()
	.get('/', serveOperation(getUsage), async (c) => {
		const { owner, days } = c.req.valid('query');
		const { sessionBudget: session, dayBudget: day } = readConfig(c.env);
		const local = isOnlyLocal(c) ? [localIdentity.owner] : [];
		const owners = owner === undefined ? [...new Set([...(await findOwners(c)), ...local])].sort() : [owner];
		const found = [];
		for (let from = 0; from < owners.length; from += atOnce)
			found.push(...(await Promise.all(owners.slice(from, from + atOnce).map((name) => listDays(c, name, days)))));
		const newestFirst = found.flat().sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
		return c.json({ budgets: { session, day }, usage: newestFirst });
	})
	.all('/', refuseMethod('GET'));

async function listDays(c: Context<RouteEnv>, owner: string, count: number) {
	const { ledgers, storedKeys, findDayBudget } = readConfig(c.env);
	const [days] = await Promise.all([
		askLedger(
			() => ledgers.get(ledgers.idFromName(owner)),
			(one) => one.days(count),
		),
		storedKeys?.refreshOwner(owner),
	]);
	const limit = findDayBudget(owner);
	return days.map((day) => ({ owner, ...day, limit }));
}
