import { type SkillsNamespace, toSkillsKv } from '../../../core/skill/kv/layout.ts';
import { type Published, publishFolders } from '../../../core/skill/kv/publish.ts';

/** The KV prefix of skills that are published over HTTP, and the name of their publisher. */
export const publishedPrefix = 'skill:';

/** The entity tags of the skill (`*`: any), or that it does not exist. */
export interface Condition {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

/** `etag` is the tag after the change, or of the unchanged skill. */
export type Outcome =
	| { readonly outcome: 'created' | 'replaced' | 'removed'; readonly etag: string }
	| { readonly outcome: 'refused'; readonly etag?: string }
	/** A replacement needs an entity tag. */
	| { readonly outcome: 'unconditional'; readonly etag: string }
	| { readonly outcome: 'missing' }
	/** KV could not be read or written. No reader sees half a change. */
	| { readonly outcome: 'failed' };

/** Makes one change after another, and answers when KV has it. */
export interface PublisherApi {
	/** Creates or replaces a skill by a valid SKILL.md. The files beside it stay. */
	put(name: string, markdown: string, condition: Condition): Promise<Outcome>;
	remove(name: string, condition: Condition): Promise<Outcome>;
	/** Changes nothing. Rejects for an object that cannot be made. */
	check(): Promise<void>;
}

export interface PublisherNamespace {
	idFromName(prefix: string): DurableObjectId;
	get(id: DurableObjectId): PublisherApi;
}

/** Skills by their names: the text of each SKILL.md, or all text files of its folder by their paths. */
export type SkillTexts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/**
 * Makes the published skills of a KV namespace equal to these: writes what changed, and removes the others. A skill
 * that is not valid keeps its old version, and `problems` says why. Only one may publish at a time: a Worker that also
 * changes skills over HTTP does it there. Throws if KV cannot be read or written.
 */
export function publishSkills(kv: SkillsNamespace, skills: SkillTexts): Promise<Published> {
	const folders = Object.entries(skills).map(([name, texts]) => ({
		name,
		path: name,
		files: typeof texts === 'string' ? { 'SKILL.md': texts } : texts,
	}));
	return publishFolders(toSkillsKv(kv), folders, { prefix: publishedPrefix });
}
