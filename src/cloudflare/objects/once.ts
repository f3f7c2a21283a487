export interface Once {
	readonly key: string;
	readonly request: string;
	/** Whether it is the first attempt. An earlier request of the key was then another one with the same content. */
	readonly isFirst?: boolean;
	/** A hash of the body. */
	readonly body?: string;
}

/** Makes the key of a delivery. It has a space, so that it never equals an `Idempotency-Key`. */
export function webhookKey(source: string, id: string): string {
	return `webhook ${source} ${id}`;
}
