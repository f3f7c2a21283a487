/** The KV prefix of the skills that are published over HTTP, and the name of the object that publishes them. */
export const publishedPrefix = 'skill:';

/** What a change asks of the skill as it stands: its entity tags, or that it is there (`*`), or that it is not. */
export interface Condition {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

/** What came of a change. `etag` is that of the skill after it; where nothing was changed, that of the skill as it stands. */
export type Outcome =
	| { readonly outcome: 'created' | 'replaced' | 'removed'; readonly etag: string }
	| { readonly outcome: 'refused'; readonly etag?: string }
	/** To replace a skill its entity tag has to be given. */
	| { readonly outcome: 'unconditional'; readonly etag: string }
	| { readonly outcome: 'missing' }
	/** KV could not be read or written: nothing is promised, and nothing is half done for a reader. */
	| { readonly outcome: 'failed' };

/**
 * What may be asked of the object that publishes skills: one change after another, each on the skills that the one before
 * left. It is answered when KV has the change.
 */
export interface PublisherApi {
	/** Creates or replaces a skill by its valid SKILL.md. The files beside it stay. */
	put(name: string, markdown: string, condition: Condition): Promise<Outcome>;
	remove(name: string, condition: Condition): Promise<Outcome>;
}

/** The namespace of publishers, named by their prefix in KV. */
export interface PublisherNamespace {
	idFromName(prefix: string): DurableObjectId;
	get(id: DurableObjectId): PublisherApi;
}
