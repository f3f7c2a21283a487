import * as v from 'valibot';
import { indexKey, parseJson, retiredKey } from './layout.ts';

/**
 * The keys of values that no index names any more, each with the time since when. A value is kept for an hour, because
 * the cache of KV and runs still use an older index.
 */

/** The contents of KV: all keys, the index as text, and the record of retired keys as text (`null` if missing). */
export interface Stored {
	readonly index: string | null;
	readonly retired: string | null;
	readonly keys: readonly string[];
	/** Reads the other values of a set with shards. */
	readonly get?: (key: string) => Promise<string | null>;
}

/** How long a retired value is kept, in milliseconds. */
export const keptMs = 60 * 60_000;

/** How long the record remembers a deleted key, in milliseconds. KV can still list and serve the key for some time. */
const rememberedMs = keptMs + 10 * 60_000;

const retiredSchema = v.object({
	/** For each key, the milliseconds since 1970 at which it was retired. */
	at: v.record(v.string(), v.number()),
	/** The skills of texts that a change of shards retired. */
	skills: v.optional(v.record(v.string(), v.string())),
});

/** A retired key. `skill` is the only skill that can have the text under the key. */
export interface Retired {
	readonly at: number;
	readonly skill?: string;
}

/** Reads the record of retired keys. A broken record counts as empty. */
export function parseRetired(text: string | null): Map<string, Retired> {
	const parsed = v.safeParse(retiredSchema, parseJson(text));
	const { at, skills = {} } = parsed.success ? parsed.output : { at: {} };
	return new Map(Object.entries(at).map(([key, time]) => [key, { at: time, skill: skills[key] }]));
}

export function formatRetired(record: ReadonlyMap<string, Retired>): string {
	const at = [...record].map(([key, one]) => [key, one.at] as const);
	const skills = [...record].flatMap(([key, { skill }]) => (skill === undefined ? [] : [[key, skill] as const]));
	return JSON.stringify({
		at: Object.fromEntries(at),
		...(skills.length > 0 && { skills: Object.fromEntries(skills) }),
	});
}

/** Finds the keys that are no longer needed, each with the time it was retired, and the keys to delete now. */
export function retire(
	stored: Stored,
	needed: ReadonlySet<string>,
	named: ReadonlySet<string>,
	prefix: string,
	now: number,
) {
	const record = parseRetired(stored.retired);
	const there = new Set(stored.keys.filter((key) => key !== indexKey(prefix) && key !== retiredKey(prefix)));
	const unneeded = [...new Set([...there, ...named, ...record.keys()])].filter((key) => !needed.has(key)).sort();
	// If a publish was interrupted, the record can have a time for a key that the index still names. Ignore this time.
	const since = unneeded.map((key) => [key, named.has(key) ? now : (record.get(key)?.at ?? now)] as const);
	const at = since.filter(([key, time]) => there.has(key) || time + rememberedMs > now);
	return {
		record,
		retired:
			at.length === 0 && stored.retired === null
				? null
				: formatRetired(new Map(at.map(([key, time]) => [key, { at: time }]))),
		deletes: since.filter(([key, time]) => there.has(key) && time + keptMs <= now).map(([key]) => key),
	};
}
