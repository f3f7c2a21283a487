import { defaultPrefix, indexKey, retiredKey } from '../../core/skill/kv/layout.ts';
import { planSkills, type SkillProblem, type SkillsPlan } from '../../core/skill/kv/plan.ts';
import type { SkillsKv } from '../../core/skill/kv/store.ts';
import { type WriteOptions, writePlan } from '../../core/skill/kv/write.ts';
import { type Embedder, embedSkills } from './embed.ts';
import { readSkillFolders, readSkills } from './folder.ts';

export interface PublishOptions extends Pick<WriteOptions, 'onProgress'> {
	/** The folder that holds one folder a skill. */
	readonly directory: string;
	/** The prefix of every key. The default is `skill:`. */
	readonly prefix?: string;
	/** Computes the vectors for the search by meaning. Without it no vectors are published. */
	readonly embed?: Embedder;
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
 * Makes KV equal to the folder. Writes only the differences, and removes entries that no index named for an hour.
 * Throws if the folder or KV cannot be read or written.
 */
export async function publishSkills(
	kv: SkillsKv,
	{ directory, prefix = defaultPrefix, embed, now = Date.now(), onProgress = () => {} }: PublishOptions,
): Promise<Published> {
	const { skills, problems, warnings } = readSkills(await readSkillFolders(directory));
	const vectors =
		embed && (await embedSkills(kv, prefix, skills, embed, (done, total) => onProgress('embedded', done, total)));
	const [index, retired, keys] = await Promise.all([
		kv.get(indexKey(prefix)),
		kv.get(retiredKey(prefix)),
		kv.list(prefix),
	]);
	const plan = planSkills({ index, retired, keys }, { skills, problems, vectors }, { prefix, now });
	await writePlan(kv, plan, { onProgress });
	return { ...plan, warnings };
}
