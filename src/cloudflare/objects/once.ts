export interface Once {
	readonly key: string;
	readonly request: string;
	/** Whether this is a client's first attempt. If so, an earlier request with this key was a different request. */
	readonly isFirst?: boolean;
	/** A hash of the body. */
	readonly body?: string;
}

/** Makes the key of a delivery. It has a space, so that it never equals an `Idempotency-Key`. */
export function webhookKey(source: string, id: string): string {
	return `webhook ${source} ${id}`;
}
