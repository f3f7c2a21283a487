/**
 * The sources whose webhooks can be verified: Standard Webhooks, GitHub, Stripe, Slack, and a plain HMAC for anybody.
 */
export const sourceNames = ['standard', 'github', 'stripe', 'slack', 'hmac'] as const;

export type SourceName = (typeof sourceNames)[number];

/** A delivery as it arrived. Nothing in it is verified. */
export interface RawDelivery {
	readonly body: Uint8Array<ArrayBuffer>;
	readonly headers: Headers;
}

/** An event that its source signed. */
export interface WebhookEvent {
	readonly source: SourceName;
	/**
	 * What happened, in the source's words: `issues.opened`, `invoice.paid`, `app_mention`. Empty if the source does not
	 * say.
	 */
	readonly type: string;
	/** The delivery's id. A repeat has the same. */
	readonly id: string;
	/** The payload of the event. */
	readonly payload: Readonly<Record<string, unknown>>;
	/** The request's headers. Only Standard Webhooks signs any of them. */
	readonly headers: Headers;
}

/** How a source signs its deliveries, and how to read them. */
export interface Source {
	readonly name: SourceName;
	/** The header that holds the signature, in lower case. */
	readonly signatureHeader: string;
	/** Turns a secret into a key. Throws if it is not a secret of this source. */
	getKey(secret: string): Uint8Array<ArrayBuffer>;
	/** Reads the signature from the headers, without the body. `undefined` if there is none. */
	isSigned(headers: Headers): Signed | undefined;
	/** Whether somebody who caught a delivery could send it again under another id: neither id nor time is signed. */
	readonly isRepeatable?: true;
	/** Reads a verified payload. */
	describe(payload: WebhookEvent['payload'], headers: Headers): Description;
}

export interface Signed {
	/** The signed text before the body. */
	readonly prefix: string;
	/** Several while the sender changes its secret. */
	readonly signatures: readonly Uint8Array<ArrayBuffer>[];
	/** The time of the signature, in seconds since 1970. Missing if the source does not sign a time. */
	readonly at?: number;
}

export interface Description {
	readonly type?: string;
	/** If it is missing, only the body tells deliveries apart. */
	readonly id?: string;
	/** The answer that the source wants at once, because nothing happened. */
	readonly reply?: string;
	/** Whether the source shows the answer to a person, so that it must be empty and quick. */
	readonly isShown?: boolean;
}
