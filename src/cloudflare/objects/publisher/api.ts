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
