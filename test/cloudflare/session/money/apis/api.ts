/** The facts of an API. The walk uses them to answer like the provider. */
import { getNumber, getObjects, getString, type Json } from '../../../../../src/core/providers/adapter/json.ts';
import type { Call, Offer, Plan, Use } from '../plan.ts';
import type { Tally } from '../sheet.ts';

/** The content of a reply, from which its events are made. */
export interface About {
	readonly model: string;
	readonly body: Json;
	readonly plan: Plan;
	readonly terms: readonly string[];
	readonly text: string;
	readonly tally: Tally;
	/** Whether the reply has reached its longest length. */
	readonly isFull: boolean;
}

export interface Api {
	readonly readOffer: (body: Json) => Omit<Offer, 'label'>;
	/** Returns the longest requested reply. */
	readonly readMost: (body: Json) => number | undefined;
	/** Returns the terms that decide about the price. */
	readonly readTerms: (body: Json) => readonly string[];
	/** Returns how long the input stays in the cache. */
	readonly readCache: (body: Json) => 'none' | '5m' | '1h';
	/** Returns the billed units of a use. */
	readonly unitOf: (use: Use, model: string) => Readonly<Record<string, number>>;
	readonly begin: (about: About) => readonly Json[];
	readonly use: (use: Use, n: number) => readonly Json[];
	readonly thought: (text: string) => readonly Json[];
	readonly text: (piece: string) => readonly Json[];
	readonly call: (call: Call, n: number) => readonly Json[];
	readonly end: (about: About) => readonly Json[];
	readonly error: Json;
	/** The text after the last event. */
	readonly last?: string;
}

/** Returns the reported usage: all counts, zeros, or no usage. */
export function say({ usage }: Plan, counts: Json): Json | undefined {
	if (usage === 'none') return undefined;
	return usage === 'said' ? counts : toZero(counts);
}

function toZero(counts: Json): Json {
	return Object.fromEntries(
		Object.entries(counts)
			.map(([key, value]) => [key, typeof value === 'number' ? 0 : value])
			.filter(([, value]) => typeof value !== 'object'),
	);
}

/** Finds how often each of the provider's own tools may be used, by the types of a body's tools. */
export function findUses(body: Json, most: number): Offer['uses'] {
	const tools = getObjects(body, 'tools');
	const count = (kind: RegExp): number => {
		const tool = tools.find((one) => kind.test(getString(one, 'type') ?? ''));
		return tool === undefined ? 0 : (getNumber(tool, 'max_uses') ?? most);
	};
	return {
		web_search: count(/^web_search/),
		web_fetch: count(/^web_fetch/),
		code_execution: count(/^code_/) > 0 ? 1 : 0,
	};
}

/** Counts the entries behind the last match. */
export function countSince(list: readonly Json[], fits: (one: Json) => boolean): number {
	return list.length - 1 - list.findLastIndex(fits);
}
