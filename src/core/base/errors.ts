import { redactSecrets } from './text.ts';

/** The HTTP status of each code. The status of a code that is not listed is 500. */
const statusOfCode: Readonly<Record<string, number>> = {
	invalid_request: 400,
	invalid_argument: 400,
	invalid_tool: 400,
	invalid_skill: 400,
	invalid_agent: 400,
	duplicate_tool: 400,
	duplicate_skill: 400,
	unknown_model: 503,
	auth: 401,
	budget_exceeded: 402,
	forbidden: 403,
	not_found: 404,
	model_not_found: 404,
	method_not_allowed: 405,
	timeout: 408,
	conflict: 409,
	awaiting_tools: 409,
	awaiting_user: 409,
	halted: 409,
	precondition_failed: 412,
	too_large: 413,
	context_overflow: 413,
	unsupported_media_type: 415,
	content_filtered: 422,
	precondition_required: 428,
	rate_limited: 429,
	budget_reserved: 429,
	cancelled: 499,
	max_iterations: 500,
	internal: 500,
	interrupted: 502,
	invalid_output: 502,
	network: 502,
	provider_error: 502,
	reply_too_large: 502,
	overloaded: 503,
	storage_unavailable: 503,
	not_configured: 503,
};

/** The codes of errors that the caller has caused. In a request to a provider, the caller is Runlet. */
const refusals: ReadonlySet<string> = new Set(['auth', 'invalid_request']);

/**
 * A failure with a stable `code` to branch on, a `message` that says what to do, and optional `data`.
 *
 * `message` and `data` reach clients. They must not hold a key, a stack or another tenant's text. Anything in the
 * message that looks like a secret is removed. `cause` holds the original error and never leaves the process.
 */
export class RunletError extends Error {
	override readonly name = 'RunletError';
	readonly code: string;
	readonly data: Readonly<Record<string, unknown>> | undefined;

	constructor(code: string, message: string, data?: Readonly<Record<string, unknown>>, options?: ErrorOptions) {
		super(redactSecrets(message), options);
		this.code = code;
		this.data = data;
	}

	/** The HTTP status of `code`. It is 502 if a provider has refused Runlet's request. */
	get status(): number {
		if (this.data?.provider !== undefined && refusals.has(this.code)) return 502;
		return statusOfCode[this.code] ?? 500;
	}
}

/** Creates the error for a field. Its message begins with the field: `path: missing`. */
export function createFieldError(code: string, field: string, what: string): RunletError {
	return new RunletError(code, `${field}: ${what}`, { field });
}

/** The error body of all routes with Runlet's own protocol (docs/api.md). */
export interface ErrorBody {
	readonly error: {
		readonly code: string;
		readonly message: string;
		readonly data?: Readonly<Record<string, unknown>>;
	};
}

/** Converts any thrown value. Keeps a foreign error only as the `cause`, because its text may hold a secret. */
export function toRunletError(error: unknown): RunletError {
	if (error instanceof RunletError) return error;
	return new RunletError(
		'internal',
		'Something went wrong that Runlet did not expect. The log has the cause; in code it is error.cause.',
		undefined,
		{
			cause: error,
		},
	);
}

export function toErrorBody(error: RunletError): ErrorBody {
	const { code, message, data } = error;
	return { error: data === undefined ? { code, message } : { code, message, data } };
}

/** Converts an error to an HTTP response. The caller must log an error that Runlet has caused (`log.ts`). */
export function toResponse(thrown: unknown): Response {
	const error = toRunletError(thrown);
	return Response.json(toErrorBody(error), { status: error.status, headers: toErrorHeaders(error) });
}

/** Returns the headers of an error: `Retry-After`, and the challenge for a client without credentials. */
export function toErrorHeaders(error: RunletError): Record<string, string> {
	const { status, data } = error;
	const after = data?.retryAfter;
	if ((status === 429 || status === 503) && typeof after === 'number' && after >= 0)
		return { 'retry-after': String(Math.ceil(after)) };
	const challenge = toChallenge(error);
	return challenge === undefined ? {} : { 'www-authenticate': challenge };
}

/**
 * Returns the challenge for a refused client (RFC 9110, 11.6.1). It requests a key or a token (RFC 6750, 3), or a
 * signature in the header that the challenge names. A client without credentials sees only the scheme.
 */
function toChallenge({ status, message, data }: RunletError): string | undefined {
	const scope = status === 403 && typeof data?.scope === 'string' ? data.scope : undefined;
	if (status !== 401 && scope === undefined) return undefined;
	if (data?.scheme === 'Signature') return writeChallenge('Signature', { header: String(data.field) });
	const error = scope === undefined ? data?.challenge : 'insufficient_scope';
	return writeChallenge('Bearer', {
		...(typeof error === 'string' && { error, error_description: message }),
		...(scope !== undefined && { scope }),
	});
}

function writeChallenge(scheme: string, fields: Readonly<Record<string, string>>): string {
	// Keeps only the characters that RFC 6750, 3 allows in quotes.
	const quoted = Object.entries({ realm: 'runlet', ...fields }).map(
		([name, text]) => `${name}="${text.replace(/[^\x20-\x7e]|["\\]/g, '')}"`,
	);
	return `${scheme} ${quoted.join(', ')}`;
}

/** Returns the text of any thrown value for a model, without the stack. Replaces anything that looks like a secret. */
export function toMessageText(error: unknown): string {
	if (error instanceof Error) return redactSecrets(error.message || error.name);
	return typeof error === 'string' ? redactSecrets(error) : 'unknown error';
}

/** The longest chain of causes that is followed. */
const deepest = 4;

/** Returns the stacks of an error and its causes without keys, in at most about 20,000 characters. */
export function describeStack(thrown: unknown): string | undefined {
	const stacks: string[] = [];
	let next = thrown;
	for (let depth = 0; depth < deepest && next instanceof Error; depth++) {
		if (next.stack !== undefined) stacks.push(next.stack);
		next = next.cause;
	}
	return stacks.length === 0 ? undefined : redactSecrets(stacks.join('\nCaused by: '));
}

/** Cuts the stack of an error so that it begins with the caller of a function. */
export function withCallerFirst(error: RunletError, called: (...args: never[]) => unknown): RunletError {
	// Only V8 has this function.
	const capture: unknown = Reflect.get(Error, 'captureStackTrace');
	if (typeof capture === 'function') Reflect.apply(capture, Error, [error, called]);
	return error;
}

/** Runs the body of a public function. The stack of a `RunletError` begins with the caller of the function. */
export function blameCaller<T>(called: (...args: never[]) => unknown, work: () => T): T {
	try {
		return work();
	} catch (error) {
		throw error instanceof RunletError ? withCallerFirst(error, called) : error;
	}
}
