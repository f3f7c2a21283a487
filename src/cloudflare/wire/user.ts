import * as v from 'valibot';
import { budgetSchema, budgetState, limit } from './budget.ts';
import { exportedSession } from './export.ts';
import { shownMemory } from './memory.ts';
import { ownerName } from './page.ts';
import { schedule } from './schedule.ts';
import { spentDay, spentParts } from './spending.ts';

/** The caps of a user: for a UTC day and in total. */
const userCaps = v.object({
	daily: v.optional(v.pipe(limit, v.description('The most on a UTC day.'))),
	total: v.optional(v.pipe(limit, v.description('The most in all.'))),
});

/** The body that sets the budget of a user. A field that is missing has no cap. */
export const userBudgetBody = v.strictObject({
	daily: v.optional(v.pipe(budgetSchema, v.description('The most that the user may spend on a UTC day.'))),
	total: v.optional(v.pipe(budgetSchema, v.description('The most that the user may spend in all.'))),
});

export const userQuery = v.object({ owner: v.optional(ownerName) });

/** The budget of a user with its state. */
export const userBudget = v.object({
	caps: userCaps,
	daily: v.pipe(budgetState, v.description('Today (UTC).')),
	total: v.pipe(budgetState, v.description('All days together.')),
});

/** All data of a user. */
export const exportedUser = v.object({
	owner: v.string(),
	user: v.string(),
	budget: userBudget,
	usage: v.pipe(v.array(spentDay), v.description('What the user spent, the newest day first.')),
	spending: v.pipe(v.array(spentParts), v.description('The same by agent and model, of the last 90 days.')),
	schedules: v.array(schedule),
	memories: v.array(shownMemory),
	sessions: v.pipe(
		v.array(exportedSession),
		v.description('Each as `GET /v1/sessions/:id/export` has it, the newest activity first.'),
	),
});

/** The answer to the erasure of a user. */
export const erasedUser = v.object({
	user: v.string(),
	sessions: v.pipe(v.number(), v.description('How many sessions were removed.')),
	isDone: v.pipe(v.boolean(), v.description('Whether nothing is left. If not, send the request again.')),
});
