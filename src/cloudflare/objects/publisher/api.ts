import { type SkillsNamespace, toSkillsKv } from '../../../core/skill/kv/layout.ts';
import { type Published, publishFolders } from '../../../core/skill/kv/publish.ts';

/** The KV prefix of the skills that are published over HTTP, and the name of the object that publishes them. */
export const publishedPrefix = 'skill:';

/** The condition of a change: the entity tag of the skill, or that it exists (`*`), or that it does not. */
export interface Condition {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

/** The outcome of a change. `etag` is that of the skill after it, or of the unchanged skill. */
export type Outcome =
	| { readonly outcome: 'created' | 'replaced' | 'removed'; readonly etag: string }
	| { readonly outcome: 'refused'; readonly etag?: string }
	/** Replacing a skill needs its entity tag. */
	| { readonly outcome: 'unconditional'; readonly etag: string }
	| { readonly outcome: 'missing' }
	/** KV could not be read or written. A reader never sees half of a change. */
	| { readonly outcome: 'failed' };

/** The object that publishes skills. It makes one change after another, and answers when KV has the change. */
export interface PublisherApi {
	/** Creates or replaces a skill by its valid SKILL.md. The files beside it stay. */
	put(name: string, markdown: string, condition: Condition): Promise<Outcome>;
	remove(name: string, condition: Condition): Promise<Outcome>;
	/** Changes nothing. Rejects if the object cannot be made. */
	check(): Promise<void>;
}

/** The namespace of publishers, named by their prefix in KV. */
export interface PublisherNamespace {
	idFromName(prefix: string): DurableObjectId;
	get(id: DurableObjectId): PublisherApi;
}

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
