import { RunletError } from '../../core/ground/errors.ts';
import type { Limit } from '../objects/budget.ts';
import type { Children } from './children.ts';

/** How many children a session may have, what each may spend, and whether a call waits for its child. */
export interface ChildLimits {
	readonly budget?: Limit;
	readonly maxDepth?: number;
	readonly maxAtOnce?: number;
	readonly maxChildren?: number;
	readonly background?: boolean;
}

/** Decides what a new child may spend. Throws `conflict` where there may be no further one: the model reads why. */
export function planChild(
	agent: { readonly budget?: Limit },
	{ budget, maxDepth = 3, maxAtOnce = 8, maxChildren = 100 }: ChildLimits,
	children: Pick<Children, 'depth' | 'count' | 'budget'>,
): Limit | undefined {
	const { open, all } = children.count();
	if (children.depth >= maxDepth)
		throw createRefusal(
			`agents may work for each other ${maxDepth} levels deep, and this is the last. Do it yourself.`,
		);
	if (open >= maxAtOnce)
		throw createRefusal(`${open} agents work already, and no more may at once. Call it again when one has ended.`);
	if (all >= maxChildren)
		throw createRefusal(`this conversation has had ${all} agents work for it, and may have no more. Do it yourself.`);
	const { left } = children.budget();
	if (left.tokens === 0 || left.usd === 0)
		throw createRefusal('budget_exceeded: nothing is left of the budget for another agent. Answer with what you have.');
	const wanted = budget ?? agent.budget;
	const tokens = takeLess(wanted?.tokens, left.tokens, maxAtOnce);
	const usd = takeLess(wanted?.usd, left.usd, maxAtOnce);
	if (tokens === undefined && usd === undefined) return undefined;
	return { ...(tokens !== undefined && { tokens: Math.ceil(tokens) }), ...(usd !== undefined && { usd }) };
}

function takeLess(wanted: number | undefined, left: number | undefined, shares: number): number | undefined {
	return left === undefined ? wanted : Math.min(wanted ?? left / shares, left);
}

function createRefusal(message: string): RunletError {
	return new RunletError('conflict', `Not begun: ${message}`);
}
