/** The sources, each with the header that holds its signature, in lower case. */
export const signatureHeaders = {
	standard: 'webhook-signature',
	github: 'x-hub-signature-256',
	stripe: 'stripe-signature',
	slack: 'x-slack-signature',
	hmac: 'x-signature-256',
} as const;

export type SourceName = keyof typeof signatureHeaders;

export const sourceNames = Object.keys(signatureHeaders) as readonly SourceName[];

/** A delivery that is not verified. */
export interface RawDelivery {
	readonly body: Uint8Array<ArrayBuffer>;
	readonly headers: Headers;
}

/** An event that its source signed. */
export interface WebhookEvent {
	readonly source: SourceName;
	/** The source's name of the event, such as `issues.opened` or `app_mention`. Empty if the event has no name. */
	readonly type: string;
	/** The delivery's id. A repeated delivery has the same id. */
	readonly id: string;
	/** The payload of the event. */
	readonly payload: Readonly<Record<string, unknown>>;
	/** The request's headers. Most of them are not signed. */
	readonly headers: Headers;
}

/** How a source signs its deliveries, and how to read them. */
export interface Source {
	readonly name: SourceName;
	/** Turns a secret into a key. Throws if the text is not a secret of this source. */
	getKey(secret: string): Uint8Array<ArrayBuffer>;
	/** Reads the signature from the headers, without the body. `undefined` if there is no signature. */
	readSignature(headers: Headers): Signed | undefined;
	/** Whether a captured delivery can be replayed with another id, because neither id nor time is signed. */
	readonly isRepeatable?: true;
	/** Reads a verified payload. */
	describe(payload: WebhookEvent['payload'], headers: Headers): Description;
}

export interface Signed {
	/** The signed text before the body. */
	readonly prefix: string;
	/** The signatures. There are several while the sender changes its secret. */
	readonly signatures: readonly Uint8Array<ArrayBuffer>[];
	/** The time of the signature, in seconds since 1970. Missing if the source does not sign a time. */
	readonly at?: number;
}

export interface Description {
	readonly type?: string;
	/** The id of the delivery. If it is missing, only the body identifies the delivery. */
	readonly id?: string;
	/** The immediate answer to a ping or a challenge. */
	readonly reply?: string;
	/** Whether the source shows the answer to a person. Such an answer must be empty and quick. */
	readonly isShown?: boolean;
}
