import * as v from 'valibot';
import { explain } from '../check.ts';
import { indexLine } from './list.ts';

/** A skill as the index in KV has it. It holds what a listing needs, and what the skill brings with it. */
export const entrySchema = v.object({
	name: v.string(),
	/** In a very large index the beginning, with `…`; the whole then stands in the search document. */
	description: v.string(),
	when: v.optional(v.array(v.string())),
	modalities: v.optional(v.array(v.string())),
	requires: v.optional(v.array(v.string())),
	'allowed-tools': v.optional(v.string()),
	/** Of the body and its files: the value under `bodyKey`. */
	hash: v.string(),
});

export type Entry = v.InferOutput<typeof entrySchema>;

/** The value under `indexKey`. Entries are read one by one, so that a broken one costs no other. */
export const indexSchema = v.object({
	version: v.literal(1),
	/** Hash of the search document: the value under `searchKey`. */
	search: v.optional(v.string()),
	/** Hash of the vectors, and the model that made them: the value under `vectorsKey`. */
	vectors: v.optional(v.object({ hash: v.string(), model: v.string() })),
	skills: v.array(v.unknown()),
});

/** The value under `searchKey`: the full text index, and the descriptions that the index has cut. */
export const searchSchema = v.object({
	index: v.unknown(),
	descriptions: v.optional(v.record(v.string(), v.string())),
});

/** Every key but the index's is a hash of its value: what stands there never changes. */
export const indexKey = (prefix: string): string => `${prefix}index`;
export const bodyKey = (prefix: string, hash: string): string => `${prefix}body:${hash}`;
export const searchKey = (prefix: string, hash: string): string => `${prefix}search:${hash}`;
export const vectorsKey = (prefix: string, hash: string): string => `${prefix}vectors:${hash}`;

/** An index that was read: one set of skills, published together. */
export interface SkillSet {
	readonly entries: readonly Entry[];
	readonly byName: ReadonlyMap<string, Entry>;
	/** Characters of all its lines. */
	readonly length: number;
	readonly search: string | undefined;
	readonly vectors: { readonly hash: string; readonly model: string } | undefined;
}

export const noSkills: SkillSet = {
	entries: [],
	byName: new Map(),
	length: 0,
	search: undefined,
	vectors: undefined,
};

const namedSchema = v.object({ name: v.string() });

/** The set in a JSON value; `undefined` where it is none. A broken entry, or the second of one name, is skipped and reported. */
export function readSkillSet(
	json: unknown,
	onProblem: (message: string, skill?: string) => void,
): SkillSet | undefined {
	const index = v.safeParse(indexSchema, json);
	if (!index.success) return undefined;
	const byName = new Map<string, Entry>();
	for (const item of index.output.skills) {
		const { success, output, issues } = v.safeParse(entrySchema, item);
		if (!success) {
			const name = v.safeParse(namedSchema, item);
			const which = name.success ? `the entry of ${name.output.name}` : 'an entry without a name';
			onProblem(`skipped ${which} (${explain(issues, 'entry').message}).`, name.success ? name.output.name : undefined);
		} else if (byName.has(output.name)) onProblem(`skipped the second ${output.name}.`, output.name);
		else byName.set(output.name, output);
	}
	const entries = [...byName.values()];
	const length = entries.reduce((sum, entry) => sum + indexLine(entry).length + 1, 0);
	return { entries, byName, length, search: index.output.search, vectors: index.output.vectors };
}

/** The value under `bodyKey`. */
export const bodySchema = v.object({
	body: v.string(),
	files: v.optional(v.record(v.string(), v.string())),
	/** Only of what was put over HTTP: the keys of its SKILL.md that have no place in the index. */
	frontMatter: v.optional(v.record(v.string(), v.unknown())),
});
