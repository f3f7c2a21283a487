/**
 * The id of a request, which every answer has as `x-request-id`: a random part, and after it the id of the session that
 * the request is about. So the session is found without an index. The id gives no right: it can be written by anybody.
 */
export interface RequestId {
	/** The random part, such as `req_0f8fad5b-d9cb-469f-a165-70867728950e`. */
	readonly request: string;
	readonly session?: string;
}

const form = /^(req_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_([0-9a-f]{64}))?$/;

export function makeRequest(): string {
	return `req_${crypto.randomUUID()}`;
}

export function formatRequestId({ request, session }: RequestId): string {
	return session === undefined ? request : `${request}_${session}`;
}

/** Returns undefined for text without the form of a request's id. */
export function readRequestId(text: string): RequestId | undefined {
	const [, request, session] = form.exec(text) ?? [];
	return request === undefined ? undefined : { request, ...(session !== undefined && { session }) };
}
