import { type SkillsNamespace, toSkillsKv } from '../../../core/skill/kv/layout.ts';
import { type Published, publishFolders } from '../../../core/skill/kv/publish.ts';

/** The KV prefix of skills that are published over HTTP, and the name of their publisher. */
export const publishedPrefix = 'skill:';

/** The condition of a change: the skill has one of these entity tags (`*`: any), or the skill does not exist. */
export interface Condition {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

/** `etag` is the skill's tag after the change, or its present tag if nothing changed. */
export type Outcome =
	| { readonly outcome: 'created' | 'replaced' | 'removed'; readonly etag: string }
	| { readonly outcome: 'refused'; readonly etag?: string }
	/** A replacement needs an entity tag. */
	| { readonly outcome: 'unconditional'; readonly etag: string }
	| { readonly outcome: 'missing' }
	/** KV could not be read or written. Readers never see a part of a change. */
	| { readonly outcome: 'failed' };

/** Makes changes one after another, and answers each change when KV has stored it. */
export interface PublisherApi {
	/** Creates or replaces a skill with a valid SKILL.md. The other files of the skill do not change. */
	put(name: string, markdown: string, condition: Condition): Promise<Outcome>;
	remove(name: string, condition: Condition): Promise<Outcome>;
	/** Checks that the object works, and changes nothing. Rejects if the object cannot be made. */
	check(): Promise<void>;
}

export interface PublisherNamespace {
	idFromName(prefix: string): DurableObjectId;
	get(id: DurableObjectId): PublisherApi;
}

/** Skills by name. A skill is the text of its SKILL.md, or all text files of its folder by path. */
export type SkillTexts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/**
 * Makes the published skills of a KV namespace equal to `skills`: writes changed skills, and removes all that `skills`
 * lacks. An invalid skill keeps its old version, and `problems` says why. Publish from one place at a time: if a Worker
 * also changes skills over HTTP, publish from that Worker. Throws if KV cannot be read or written.
 */
export function publishSkills(kv: SkillsNamespace, skills: SkillTexts): Promise<Published> {
	const folders = Object.entries(skills).map(([name, texts]) => ({
		name,
		path: name,
		files: typeof texts === 'string' ? { 'SKILL.md': texts } : texts,
	}));
	return publishFolders(toSkillsKv(kv), folders, { prefix: publishedPrefix });
}
