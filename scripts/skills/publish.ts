import { defaultPrefix, indexKey, retiredKey } from '../../src/core/skill/kv/layout.ts';
import { planSkills, type SkillProblem, type SkillsPlan } from '../../src/core/skill/kv/plan.ts';
import type { SkillsKv } from '../../src/core/skill/kv/store.ts';
import { type WriteOptions, writePlan } from '../../src/core/skill/kv/write.ts';
import { type Embedder, embedSkills } from './embed.ts';
import { readSkillFolders, readSkills } from './folder.ts';

export interface PublishOptions extends Pick<WriteOptions, 'onProgress'> {
	/** The folder that holds one folder a skill. */
	readonly directory: string;
	/** In front of every key; `skill:`. */
	readonly prefix?: string;
	/** Makes the vectors of a search by meaning. Without it none are published. */
	readonly embed?: Embedder;
	/** Milliseconds since 1970; now. */
	readonly now?: number;
}

/** Names of skills. A skill with a problem is not published: what KV has of it stays, and the others go on. */
export interface Published extends Pick<SkillsPlan, 'published' | 'unchanged' | 'removed' | 'problems'> {
	/** What is not valid of skills that are published all the same. */
	readonly warnings: readonly SkillProblem[];
}

/**
 * Makes KV equal to the folder. Writes only what differs, and removes what no index named for an hour. Throws when the
 * folder or KV cannot be read or written.
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
