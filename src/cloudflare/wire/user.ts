import * as v from 'valibot';
import { budgetSchema, budgetState, limit } from './budget.ts';
import { exportedSession } from './export.ts';
import { described } from './field.ts';
import { shownMemory } from './memory.ts';
import { ownerName } from './page.ts';
import { schedule } from './schedule.ts';
import { spentDay, spentParts } from './spending.ts';

const userCaps = v.object({
	daily: v.optional(described(limit, 'The most on a UTC day.')),
	total: v.optional(described(limit, 'The most in all.')),
});

/** The budget of a user. Without a field there is no cap of that kind. */
export const userBudgetBody = v.strictObject({
	daily: v.optional(described(budgetSchema, 'The most that the user may spend on a UTC day.')),
	total: v.optional(described(budgetSchema, 'The most that the user may spend in all.')),
});

export const userQuery = v.object({ owner: v.optional(ownerName) });

export const userBudget = v.object({
	caps: userCaps,
	daily: described(budgetState, 'Today (UTC).'),
	total: described(budgetState, 'All days together.'),
});

export const exportedUser = v.object({
	owner: v.string(),
	user: v.string(),
	jurisdiction: v.optional(
		described(v.string(), 'Where all except the sessions is stored, if the owner has a jurisdiction.'),
	),
	budget: userBudget,
	usage: described(v.array(spentDay), 'The spending of the user, the newest day first.'),
	spending: described(v.array(spentParts), 'The same by agent and model, of the last 90 days.'),
	schedules: v.array(schedule),
	memories: v.array(shownMemory),
	files: described(
		v.array(
			v.object({
				...{ id: v.string(), name: v.string(), purpose: v.string(), mime: v.string(), size: v.number() },
				createdAt: v.string(),
				expiresAt: v.optional(described(v.number(), 'Milliseconds since 1970.')),
				content: described(v.string(), 'Base64.'),
			}),
		),
		'The files that the user has uploaded.',
	),
	sessions: described(
		v.array(exportedSession),
		'Each as `GET /v1/sessions/:id/export` has it, the newest activity first.',
	),
});

export const erasedUser = v.object({
	user: v.string(),
	sessions: described(v.number(), 'How many sessions were removed.'),
	isDone: described(v.boolean(), 'Whether nothing is left. If not, send the request again.'),
});
