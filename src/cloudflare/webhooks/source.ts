/** Who sends webhooks that can be verified: Standard Webhooks, three senders of their own, and a plain HMAC for anybody. */
export const sourceNames = ['standard', 'github', 'stripe', 'slack', 'hmac'] as const;

export type SourceName = (typeof sourceNames)[number];

/** A delivery as it came. Nothing of it is known to be true. */
export interface RawDelivery {
	readonly body: Uint8Array<ArrayBuffer>;
	readonly headers: Headers;
}

/** An event that its source has signed. */
export interface WebhookEvent {
	readonly source: SourceName;
	/** What happened, in the source's words: `issues.opened`, `invoice.paid`, `app_mention`; empty where it does not say. */
	readonly type: string;
	/** The delivery's id: the same when it comes again. */
	readonly id: string;
	/** What the source says of it. */
	readonly payload: Readonly<Record<string, unknown>>;
	/** The request's headers; no source but Standard Webhooks signs any of them. */
	readonly headers: Headers;
}

/** How a source signs its deliveries, and what stands in them. */
export interface Source {
	readonly name: SourceName;
	/** The header that holds the signature, in lower case. */
	readonly signatureHeader: string;
	/** The key that a secret stands for; throws where it is no secret of this source. */
	getKey(secret: string): Uint8Array<ArrayBuffer>;
	/** What the headers say of the signature; nothing where it is not signed at all. The body is not needed for that. */
	isSigned(headers: Headers): Signed | undefined;
	/** Whether a delivery that was caught may be sent again under another id: neither id nor time is signed. */
	readonly isRepeatable?: true;
	/** What a verified payload says of itself. */
	describe(payload: WebhookEvent['payload'], headers: Headers): Description;
}

export interface Signed {
	/** What the signatures are over in front of the body. */
	readonly prefix: string;
	/** Each with another secret, while the sender changes it. */
	readonly signatures: readonly Uint8Array<ArrayBuffer>[];
	/** When it was signed, in seconds since 1970; missing where the source does not sign a time. */
	readonly at?: number;
}

export interface Description {
	readonly type?: string;
	/** Missing means that only the body tells deliveries apart. */
	readonly id?: string;
	/** What the source wants to hear at once: nothing has happened. */
	readonly reply?: string;
	/** Whether the source shows a person what it is answered, and so wants an empty answer, soon. */
	readonly isShown?: boolean;
}
