/** Reads the people of an owner from keys, spending and sessions. */

import type { Client, Key, Spending, UserBudget } from '../../../client/index.ts';
import type { Place } from '../../parts/panel.ts';

/** The number of days whose spending is summed up, including today. */
export const days = 31;
/** The most people that are shown, because each has a budget to read. */
const mostPeople = 60;
/** The newest sessions, whose users are people too. */
const newestSessions = 100;

export interface Amount {
	readonly tokens: number;
	readonly usd: number;
}

/** What is spent of a budget. */
export interface State {
	readonly spent: Amount;
	readonly limit: { readonly tokens?: number; readonly usd?: number };
}

export interface Person {
	readonly name: string;
	readonly keys: readonly Key[];
	readonly spent: Amount;
	readonly budget: UserBudget;
	readonly sessions: number;
}

export interface Team {
	readonly owner: string;
	/** The spending and the budget of the owner today. */
	readonly today: State;
	readonly people: readonly Person[];
	readonly isCut: boolean;
	/** Undefined if the viewer may not list keys. */
	readonly keys: readonly Key[] | undefined;
}

export async function readTeam({ client, viewer, signal }: Place): Promise<Team> {
	const owner = viewer.me?.owner ?? '';
	const [spending, keys, sessions] = await Promise.all([
		client.getUsage({ owner, by: 'user', days, signal }),
		viewer.hasScope('admin') ? client.listKeys({ signal }) : undefined,
		client.listSessions({ limit: newestSessions, signal }),
	]);
	const own = keys?.filter((key) => key.owner === owner);
	const sums = sumByUser(spending);
	const counts = Map.groupBy(sessions.sessions, ({ user }) => user);
	const named = [...(own ?? []), ...sessions.sessions].flatMap(({ user }) => user ?? []);
	const names = [...new Set([...sums.keys(), ...named])].filter((name) => name !== '*');
	const shown = names.slice(0, mostPeople);
	const people = await Promise.all(
		shown.map(async (name) => ({
			name,
			keys: own?.filter((key) => key.user === name && !key.isOver) ?? [],
			spent: sums.get(name) ?? { tokens: 0, usd: 0 },
			budget: await readBudget(client, name, signal),
			sessions: counts.get(name)?.length ?? 0,
		})),
	);
	const isCut = names.length > shown.length;
	return { owner, today: findToday(spending), people: people.toSorted(byUse), isCut, keys: own };
}

function readBudget(client: Client, name: string, signal: AbortSignal): Promise<UserBudget> {
	return client.getUserBudget(name, { signal });
}

function byUse(a: Person, b: Person): number {
	return b.spent.usd - a.spent.usd || b.spent.tokens - a.spent.tokens || (a.name < b.name ? -1 : 1);
}

/** Sums up the spending of each user. Those who spent the most come first. */
function sumByUser({ groups = [] }: Spending): ReadonlyMap<string, Amount> {
	const sums = new Map<string, Amount>();
	for (const group of groups) {
		if (!('spent' in group) || group.user === undefined) continue;
		const { tokens, usd } = sums.get(group.user) ?? { tokens: 0, usd: 0 };
		sums.set(group.user, { tokens: tokens + group.spent.tokens, usd: usd + (group.spent.usd ?? 0) });
	}
	return sums;
}

function findToday({ usage, budgets }: Spending): State {
	const today = new Date().toISOString().slice(0, 10);
	const day = usage.find((one) => one.day === today);
	const [newest] = usage;
	return { spent: day?.spent ?? { tokens: 0, usd: 0 }, limit: newest?.limit ?? budgets.day };
}
