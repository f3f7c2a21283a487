import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { isTooDeep } from '../../../core/base/json.ts';
import { publicFetch } from '../../../core/base/public-fetch.ts';
import { createRedactor, redactJson } from '../../../core/base/redactor.ts';
import { truncateText } from '../../../core/base/text.ts';
import type { ToolContext } from '../../../core/tool/index.ts';
import { readText } from '../../config/variables.ts';
import { fillHeaders, listSecretNames } from '../user-tools/headers.ts';

/** The maximum number of bytes of an answer: twice the longest result. */
const maxBytes = 2_097_152;
/** The maximum length of a refusal's text for the model, in characters. */
const longestRefusal = 1_000;

export interface Limits {
	/** Milliseconds for the whole answer. */
	readonly timeoutMs: number;
	readonly signal?: AbortSignal;
}

/**
 * Sends a POST with a JSON body, or a GET if there is no body. Returns the JSON of the answer without the secrets of the
 * headers. Throws `network` or `timeout` if a later request can succeed, else `auth`, `too_large`, or `invalid_request`
 * for a refusal and for an answer that is not JSON.
 */
export type Ask = (url: string | URL, limits: Limits, body?: object) => Promise<unknown>;

interface Caller {
	readonly name: string;
	/** `${NAME}` in a value is a variable. */
	readonly headers: Readonly<Record<string, string>>;
	/** The origin that gets the headers. */
	readonly origin: string;
}

/** Whether a later request can succeed. */
export function isTransient(error: unknown): error is RunletError {
	return error instanceof RunletError && (error.code === 'network' || error.code === 'timeout');
}

/** Creates the requests of a call. No request follows a redirect. Throws `not_configured` for a missing variable. */
export function createAsk({ name, headers, origin }: Caller, { env, fetch, web, traceparent }: ToolContext): Ask {
	const secrets = Object.fromEntries([...listSecretNames(headers)].map((secret) => [secret, readText(env, secret)]));
	const redact = createRedactor(Object.values(secrets).filter(({ length }) => length >= 4));
	const usual = {
		...(traceparent !== undefined && { traceparent }),
		'a2a-version': '1.0',
		accept: 'application/json, application/a2a+json',
	};
	const own = { ...fillHeaders(headers, secrets), ...usual };
	return async (url, { timeoutMs, signal }, body) => {
		const posted = body !== undefined && { method: 'POST', body: JSON.stringify(body) };
		const shared = new URL(url).origin === origin ? own : usual;
		const response = await publicFetch(
			url,
			{ ...posted, headers: { ...shared, ...(posted && { 'content-type': 'application/json' }) }, signal },
			{ maxBytes, timeoutMs, maxRedirects: 0, allowLoopback: web?.allowLoopback, field: name, fetch },
		);
		const json = redactJson(readJson(await response.text()), redact);
		assertAccepted(name, response.status, json);
		return json;
	};
}

/** Returns nothing for a text that is not JSON, or is nested too deep. */
function readJson(text: string): unknown {
	try {
		const json: unknown = JSON.parse(text);
		return isTooDeep(json) ? undefined : json;
	} catch {
		return undefined;
	}
}

/** The failures of JSON-RPC and of HTTP+JSON have the same form (A2A, 9.5 and 11.6). */
const failure = v.object({ error: v.object({ message: v.optional(v.string(), 'without a reason') }) });

function assertAccepted(name: string, status: number, json: unknown): void {
	const refusal = v.safeParse(failure, json);
	if (status < 400 && !refusal.success) {
		if (json !== undefined) return;
		throw new RunletError('invalid_request', `${name}: the agent's server answered with what is no JSON.`);
	}
	const said = refusal.success ? `: ${truncateText(refusal.output.error.message, longestRefusal)}` : '';
	const what = `${name}: the agent's server refused the request${status < 400 ? '' : ` with status ${status}`}${said}`;
	if (status === 401 || status === 403)
		throw new RunletError(
			'auth',
			`${what}\nGive what it asks for in the headers of its a2aTool, such as { authorization: 'Bearer \${NAME}' }.`,
		);
	throw new RunletError(status === 429 || status >= 500 ? 'network' : 'invalid_request', what);
}
