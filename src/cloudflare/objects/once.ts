export interface Once {
	readonly key: string;
	readonly request: string;
	/**
	 * Whether the sender makes its first attempt. Then an earlier request with the same key was another request
	 * with the same content.
	 */
	readonly isFirst?: boolean;
	/** A hash of the body. */
	readonly body?: string;
}

/** Makes the key of a delivery. It has a space, so that it never equals an `Idempotency-Key`. */
export function webhookKey(source: string, id: string): string {
	return `webhook ${source} ${id}`;
}
