/** A session as its owner's directory lists it. Times are milliseconds since 1970. */
export interface Listed {
	readonly id: string;
	readonly agent: string;
	readonly title?: string;
	readonly createdAt: number;
	/** Its last activity, which the list is ordered by. */
	readonly activeAt: number;
}

export interface DirectoryPage {
	readonly sessions: Listed[];
	/** Where the next page begins; missing after the last. */
	readonly cursor?: string;
}

/** What may be asked of the directory of one owner: the list of that owner's sessions, by last activity. */
export interface DirectoryApi {
	/** Lists a session, or replaces what is listed of it whole, unless that is of a later activity. */
	touch(entry: Listed): Promise<void>;
	/**
	 * Takes a session off the list. A `touch` that arrives within a day after it does not bring the session back; one
	 * that was created later under the same id is another session, and is listed.
	 */
	remove(id: string): Promise<void>;
	/**
	 * At most `limit` sessions, newest activity first, from a cursor on that `list` gave. From page to page no session
	 * comes twice, and none is left out but those that were active in the meantime: they stand in front.
	 */
	list(page: { readonly cursor?: string | undefined; readonly limit: number }): Promise<DirectoryPage>;
}

/** The namespace of directories, named by their owners. */
export interface DirectoryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): DirectoryApi;
}
