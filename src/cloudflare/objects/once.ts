/** The identity of a request that may be repeated: its `Idempotency-Key`, and a hash of its content. */
export interface Once {
	readonly key: string;
	readonly request: string;
	/**
	 * Whether the client sends it for the first time. If so, an earlier request under the same key was a different one
	 * with the same content.
	 */
	readonly isFirst?: boolean;
	/** A hash of its body. The same body has the same hash under any key. */
	readonly body?: string;
}

/** Creates the key of a webhook delivery. It has a space, so it never equals an `Idempotency-Key`. */
export function webhookKey(source: string, id: string): string {
	return `webhook ${source} ${id}`;
}
