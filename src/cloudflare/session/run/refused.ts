import * as v from 'valibot';
import type { Message } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { BudgetState } from '../../objects/budget.ts';
import type { Shortages } from '../../objects/ledger/shortages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

const limit = v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) });
const amount = v.object({ tokens: v.number(), usd: v.number() });
const budget = v.object({
	scope: v.picklist(['session', 'day', 'user-day', 'user-total']),
	limit,
	spent: amount,
	reserved: amount,
	left: limit,
	needs: amount,
});

/** What a budget that refused a request said. */
export type RefusedBudget = v.InferOutput<typeof budget>;

/** A run that ended because a request was not allowed. */
export interface RefusedRun extends Pick<RunRecord, 'n' | 'model' | 'maxOutputTokens' | 'boot'> {
	readonly error: RunletError;
	/** The budget that refused. Missing where the model has no known price. */
	readonly budget?: RefusedBudget;
	readonly endedAt: number;
}

/** After so many refused runs in a row no other model and no shorter message is tried, until there is more money. */
export const mostTries = 3;

/** Lists the newest runs, as far as each ended because a request was not allowed: at most `mostTries`, the newest first. */
export function listRefused({ runs }: Pick<SessionStore, 'runs'>): readonly RefusedRun[] {
	const newest = runs.get();
	const found: RefusedRun[] = [];
	for (let run = newest?.status === 'running' ? runs.get(newest.n - 1) : newest; run; run = runs.get(run.n - 1)) {
		const refused = toRefused(run);
		if (refused === undefined) break;
		found.push(refused);
		if (found.length === mostTries) break;
	}
	return found;
}

function toRefused({ n, model, maxOutputTokens, boot, end, endedAt = 0 }: RunRecord): RefusedRun | undefined {
	const event = end?.event;
	if (event?.type !== 'error' || event.code !== 'budget_exceeded') return undefined;
	const error = new RunletError(event.code, event.message, event.data);
	const read = v.safeParse(budget, event.data);
	return { n, model, maxOutputTokens, boot, error, endedAt, ...(read.success && { budget: read.output }) };
}

/** The state of a budget as it was when it refused. */
export function toState({ limit, spent, reserved, left }: RefusedBudget): BudgetState {
	return { limit, spent, reserved, left };
}

/** Notes that a budget of the owner or the user refused the newest run, if one did. */
export function noteShortage(store: SessionStore, shortages: Shortages): void {
	const [refused] = store.exists() ? listRefused(store) : [];
	if (refused?.budget === undefined || refused.budget.scope === 'session') return;
	const { scope, needs } = refused.budget;
	const session = store.session();
	const records = refused.n === 1 ? store.messages.page().records : [];
	const isFirst = records.length > 0 && records.every(({ input }) => input === true);
	const size = toCharacters(records.map(({ message }) => message));
	shortages.note(scope, session, nameFirst(session), isFirst ? { needs, size } : undefined);
}

/** Names what asks for the first request of a session. */
export function nameFirst({ agent, model = '' }: Pick<SessionRecord, 'agent' | 'model'>): string {
	return `${agent} ${model}`;
}

export function toCharacters(messages: readonly Message[]): number {
	return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}
