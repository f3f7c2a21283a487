import { readSkills, type SkillFolder } from './folder.ts';
import { defaultPrefix, indexKey, retiredKey, type Vectors } from './layout.ts';
import { planSkills, type SkillProblem, type SkillsPlan } from './plan.ts';
import type { PreparedSkill } from './prepare.ts';
import type { SkillsKv } from './store.ts';
import { type WriteOptions, writePlan } from './write.ts';

export interface PublishOptions extends Pick<WriteOptions, 'onProgress'> {
	/** The prefix of every key. The default is `skill:`. */
	readonly prefix?: string;
	/** Computes the vectors for the search by meaning. Without it no vectors are published. */
	readonly embed?: (skills: readonly PreparedSkill[]) => Promise<Vectors>;
	/** Milliseconds since 1970. The default is now. */
	readonly now?: number;
}

/**
 * The names of skills. A skill with a problem is not published: its old version stays in KV. The others are published.
 */
export interface Published extends Pick<SkillsPlan, 'published' | 'unchanged' | 'removed' | 'problems'> {
	/** Violations of the format in skills that are published all the same. */
	readonly warnings: readonly SkillProblem[];
}

/**
 * Makes KV equal to the folders. Writes only the differences, and removes entries that no index named for an hour. Throws
 * if KV cannot be read or written.
 */
export async function publishFolders(
	kv: SkillsKv,
	folders: readonly SkillFolder[],
	{ prefix = defaultPrefix, embed, now = Date.now(), onProgress }: PublishOptions = {},
): Promise<Published> {
	const { skills, problems, warnings } = readSkills(folders);
	const vectors = await embed?.(skills);
	const [index, retired, keys] = await Promise.all([
		kv.get(indexKey(prefix)),
		kv.get(retiredKey(prefix)),
		kv.list(prefix),
	]);
	const plan = planSkills({ index, retired, keys }, { skills, problems, vectors }, { prefix, now });
	await writePlan(kv, plan, { onProgress });
	return { ...plan, warnings };
}
