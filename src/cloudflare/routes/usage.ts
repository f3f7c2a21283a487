import type { Context } from 'hono';
import type * as v from 'valibot';
import { readConfig } from '../config/config.ts';
import { askAll, readHeld } from '../objects/directory/all.ts';
import type { DayPart, PartField } from '../objects/ledger/api.ts';
import { listDays as listOwnerDays, listParts } from '../objects/ledger/owner.ts';
import { getUsage } from '../wire/endpoints/users.ts';
import type { spentGroup, spentParts } from '../wire/spending.ts';
import { getListedOwner, isAdmin, type RouteEnv } from './identity.ts';
import { mount } from './request.ts';
import { listOwners } from './session-list.ts';

/** `/v1/usage`: shows what the owners spent, by day. */
export const usageRoutes = [
	mount(getUsage, async (c) => {
		const { owner, user, by, days, cursor: after } = c.req.valid('query');
		const { sessionBudget: session, dayBudget: day } = readConfig(c.env);
		const { owners, cursor } = await findSpenders(c, owner, after);
		const fields = parseFields(by);
		const listed = { user, count: days };
		const usage = await askDays(owners, (name) => listDays(c, name, listed));
		const groups = fields.size > 0 && { groups: await askDays(owners, (name) => listGroups(c, name, fields, listed)) };
		const storage = await askAll(owners, async (name) => [await showHeld(c, name, user)]);
		return c.json({ budgets: { session, day }, usage, ...groups, storage, cursor });
	}),
];

/** Reads the spending of owners by day, the newest day first. */
async function askDays<T extends { readonly day: string }>(
	owners: readonly string[],
	ask: (owner: string) => Promise<readonly T[]>,
): Promise<readonly T[]> {
	const found = await askAll(owners, ask);
	return found.sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
}

/** How many owners a page has. Each of them is asked. */
const ownersOfPage = 100;

/** Finds the owners of a page. The cursor of the next page is the name of the last one. */
async function findSpenders(c: Context<RouteEnv>, requested: string | undefined, after: string | undefined) {
	if (requested !== undefined || !isAdmin(c)) return { owners: [getListedOwner(c, requested)] };
	const found = await listOwners(c, ownersOfPage + 1, after);
	const owners = found.slice(0, ownersOfPage);
	return { owners, cursor: found.length > owners.length ? owners.at(-1) : undefined };
}

/** Reads how many bytes the sessions of an owner, or of a user of the owner, store. */
async function showHeld(c: Context<RouteEnv>, owner: string, user: string | undefined) {
	const config = readConfig(c.env);
	const { roomLimits } = config;
	const held = await readHeld(config, owner, user);
	const [bytes, limit] = user === undefined ? [held.owner, roomLimits.owner] : [held.user ?? 0, roomLimits.user];
	return { owner, ...(user !== undefined && { user }), bytes, limit };
}

interface Listed {
	/** Undefined for the whole owner. */
	readonly user: string | undefined;
	readonly count: number;
}

async function listDays(c: Context<RouteEnv>, owner: string, { user, count }: Listed) {
	const config = readConfig(c.env);
	const [days] = await Promise.all([
		listOwnerDays(config, { owner, user }, count),
		config.storedKeys?.refreshOwner(owner),
	]);
	const limit = user === undefined ? config.findDayBudget(owner) : {};
	return days.map((day) => ({ owner, ...(user !== undefined && { user }), ...day, limit }));
}

async function listGroups(
	c: Context,
	owner: string,
	by: ReadonlySet<string>,
	{ user, count }: Listed,
): Promise<readonly v.InferOutput<typeof spentGroup>[]> {
	const fields = partFields.filter((field) => by.has(field));
	const parts = await listParts(readConfig(c.env), { owner, user }, { by: fields, count });
	return by.has('unit')
		? parts.flatMap((part) => showUnits(part, by).map((group) => ({ owner, ...group })))
		: parts.map((part) => ({ owner, ...showPart(part, by) }));
}

function parseFields(by: string | undefined): ReadonlySet<string> {
	return new Set(by?.split(',').filter((field) => field !== ''));
}

/** The fields by which a ledger can group spending. */
const partFields: readonly PartField[] = ['agent', 'model', 'user'];

/** Shows an unknown price as null and never as 0. */
export function showPart(
	{ day, tokens, usd, unpricedTokens, inputTokens, cachedInputTokens, units = {}, ...names }: DayPart,
	by: ReadonlySet<string>,
): v.InferOutput<typeof spentParts> {
	return {
		...{ day, ...showNames(names, by), spent: { tokens, usd: unpricedTokens > 0 && usd === 0 ? null : usd } },
		...(unpricedTokens > 0 && { unpricedTokens }),
		...{ inputTokens, cachedInputTokens, cachedShare: toShare(cachedInputTokens, inputTokens), units },
	};
}

function showUnits({ day, tokens, inputTokens, cachedInputTokens, units, ...names }: DayPart, by: ReadonlySet<string>) {
	const all = {
		...{ input_tokens: inputTokens, cached_input_tokens: cachedInputTokens, output_tokens: tokens - inputTokens },
		...units,
	};
	return Object.entries(all).flatMap(([unit, count]) =>
		count > 0 ? [{ day, ...showNames(names, by), unit, count }] : [],
	);
}

function showNames({ agent, model, user }: Pick<DayPart, PartField>, by: ReadonlySet<string>) {
	return {
		...(by.has('agent') && { agent }),
		...(by.has('model') && { model }),
		...(by.has('user') && user !== undefined && { user }),
	};
}

function toShare(part: number, whole: number): number {
	return whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 1_000;
}
