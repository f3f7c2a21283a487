import type { SkillsKv } from '../../core/skill/kv/layout.ts';
import { defaultPrefix } from '../../core/skill/kv/layout.ts';
import {
	type Published,
	type PublishOptions as PublishFoldersOptions,
	publishFolders,
} from '../../core/skill/kv/publish.ts';
import type { Embedder } from './embed.ts';
import { readSkillFolders } from './folder.ts';

export interface PublishOptions extends Omit<PublishFoldersOptions, 'embed'> {
	/** The folder that contains a folder for each skill. */
	readonly directory: string;
	/** Computes the vectors for the search by meaning. If it is missing, no vectors are published. */
	readonly embed?: Embedder;
}

/** Makes KV equal to the folder. Throws if the folder or KV cannot be read or written. */
export async function publishSkills(
	kv: SkillsKv,
	{ directory, prefix = defaultPrefix, embed, onProgress = () => {}, ...options }: PublishOptions,
): Promise<Published> {
	return publishFolders(kv, await readSkillFolders(directory), {
		...options,
		prefix,
		onProgress,
		...(embed && {
			embed: async (skills) => {
				const { embedSkills } = await import('./embed.ts');
				return embedSkills(kv, prefix, skills, embed, (done, total) => onProgress('embedded', done, total));
			},
		}),
	});
}
