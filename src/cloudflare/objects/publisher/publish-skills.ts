import { type SkillsNamespace, toSkillsKv } from '../../../core/skill/kv/layout.ts';
import { type Published, publishFolders } from '../../../core/skill/kv/publish.ts';
import { publishedPrefix } from './api.ts';

/** Skills by their names: the text of each SKILL.md, or all text files of its folder by their paths. */
export type SkillTexts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/**
 * Makes the published skills of a KV namespace equal to these: writes what changed, and removes the others. A skill that is
 * not valid keeps its old version, and `problems` says why. Only one may publish at a time: a Worker that also changes
 * skills over HTTP does it there. Throws if KV cannot be read or written.
 */
export function publishSkills(kv: SkillsNamespace, skills: SkillTexts): Promise<Published> {
	const folders = Object.entries(skills).map(([name, given]) => ({
		name,
		path: name,
		files: typeof given === 'string' ? { 'SKILL.md': given } : given,
	}));
	return publishFolders(toSkillsKv(kv), folders, { prefix: publishedPrefix });
}
