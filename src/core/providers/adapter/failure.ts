import { RunletError, toMessageText } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { redactSecrets } from '../../base/text.ts';
import {
	findStatusCode,
	isRetryable,
	parseRetryAfter,
	readCauseCode,
	toModelError,
	withData,
} from '../../chat/model-error.ts';
import { readError } from './bounded.ts';
import { getNumber, getObject, getObjects, getString, type Json, readJson } from './json.ts';

export interface Caller {
	readonly displayName: string;
	readonly variant: string;
	readonly model: string;
	/** Texts that no message may show, such as the API key. */
	readonly secrets: readonly string[];
	/** The variable that holds the key, for error messages. */
	readonly keyName?: string;
}

/** An error that a provider reports: in a response, or within a stream. */
export interface Complaint {
	readonly status?: number;
	readonly headers?: Headers;
	/** The body or the event: as JSON if possible, else as text. */
	readonly body: unknown;
}

export class ProviderComplaint extends Error {
	readonly complaint: Complaint;
	constructor(complaint: Complaint) {
		super('the provider answered with an error');
		this.complaint = complaint;
	}
}

/** Reads the body of an unsuccessful response and creates the error. */
export async function readComplaint(response: Response): Promise<ProviderComplaint> {
	const { status, headers } = response;
	const text = await readError(response).catch(() => '');
	return new ProviderComplaint({ status, headers, body: readJson(text) ?? text });
}

/** Converts a failure to a `RunletError` without secrets. The provider's words, else the status, decide the code. */
export function toProviderError(thrown: unknown, caller: Caller): RunletError {
	if (thrown instanceof RunletError) return withCaller(thrown, caller);
	const complaint = findComplaint(thrown);
	if (complaint === undefined) {
		const failure = toModelError(thrown, caller.model);
		const { code } = failure;
		const detail = readCauseCode(thrown) ?? (code === 'network' ? undefined : toMessageText(thrown));
		const kind = code === 'network' ? 'the connection failed' : 'the call failed';
		const words = detail === undefined ? kind : `${kind} (${detail})`;
		const message = `${caller.displayName} (${caller.model}): ${words}. ${remedies[code]?.(caller) ?? ''}`.trim();
		return withData(failure, { provider: caller.variant }, redact(message, caller));
	}
	return judgeComplaint(complaint, caller);
}

function judgeComplaint({ status, headers, body }: Complaint, caller: Caller): RunletError {
	const { model, variant: provider, displayName } = caller;
	const report = isRecord(body) || Array.isArray(body) ? readReport(body) : {};
	if (status !== undefined && status < 400) return createRedirected(caller, status);
	const words = report.message ?? (typeof body === 'string' ? toPlainText(body, status) : undefined);
	const verdict = chooseCode(report, words ?? '', status);
	const code = verdict === 'insufficient_quota' ? 'rate_limited' : verdict;
	const retryAfter = readRetryAfter(headers) ?? report.retryAfter;
	const data = {
		model,
		provider,
		status,
		...(report.kind !== undefined && { kind: redact(report.kind, caller).slice(0, 100) }),
		retryAfter,
		...(verdict === 'auth' && caller.keyName !== undefined && { needs: caller.keyName }),
		...(verdict === 'insufficient_quota' && { insufficientQuota: true }),
	};
	// Removes the secrets before the cut, because the cut could leave half of a secret.
	const text = redact(words ?? `answered with status ${status ?? 'unknown'}`, caller)
		.slice(0, 500)
		.trim();
	const remedy = status === 404 ? notFound : (remedies[verdict]?.(caller) ?? '');
	const sentence = /[.!?…]$/.test(text) ? text : `${text}.`;
	return new RunletError(code, `${displayName} (${model}): ${sentence} ${remedy}`.trim(), data);
}

interface Report {
	readonly message?: string;
	/** All short names for the kind of the error: `type`, `code`, `status`. */
	readonly kinds?: readonly string[];
	readonly kind?: string;
	readonly retryAfter?: number;
}

/** Reads an error body of any dialect: `{ error: { message, type, code, status } }`, nested or bare, or a list. */
function readReport(body: Json | readonly unknown[]): Report {
	let at: Json = isRecord(body) ? body : (body.find(isRecord) ?? {});
	const kinds: string[] = [];
	const note = (value: unknown): void => {
		if (typeof value === 'string' && value !== '' && value !== 'error') kinds.push(value);
		else if (typeof value === 'number') kinds.push(String(value));
	};
	let message: string | undefined;
	let retryAfter: number | undefined;
	for (let depth = 0; depth < 4; depth++) {
		for (const key of ['code', 'status', 'type']) note(at[key]);
		message = getString(at, 'message') ?? getString(at, 'detail') ?? message;
		retryAfter ??= getNumber(at, 'retry_after') ?? readRetryInfo(at);
		const raw = getString(getObject(at, 'metadata'), 'raw');
		if (raw !== undefined && raw !== '') message = `${message ?? ''} ${raw}`.trim();
		const inner = at.error;
		if (typeof inner === 'string') message ??= inner;
		const list = getObjects(at, 'errors')[0];
		const next = isRecord(inner) ? inner : list;
		if (next === undefined) break;
		at = next;
	}
	return { message, kinds, kind: kinds.at(-1), retryAfter };
}

/** Reads Gemini's `RetryInfo`: `retryDelay: "34.5s"`. */
function readRetryInfo(error: Json): number | undefined {
	for (const detail of getObjects(error, 'details')) {
		const seconds = /^([\d.]+)s$/.exec(getString(detail, 'retryDelay') ?? '')?.[1];
		if (seconds !== undefined) return Number(seconds);
	}
	return undefined;
}

type Verdict =
	| 'auth'
	| 'rate_limited'
	| 'insufficient_quota'
	| 'overloaded'
	| 'context_overflow'
	| 'invalid_request'
	| 'content_filtered'
	| 'timeout'
	| 'interrupted'
	| 'provider_error';

/** The exact short names that providers use. The first matching name counts. */
const verdicts: readonly (readonly [Verdict, RegExp])[] = [
	['insufficient_quota', /^(insufficient_quota|billing_error|insufficient_balance|billing_hard_limit_reached|402)$/i],
	['context_overflow', /^(context_length_exceeded|context_window_exceeded|request_too_large|413)$/i],
	[
		'content_filtered',
		/^(content_filter|(image_)?content_policy_violation|content_filtered|moderation_blocked|safety|prompt_blocked|cyber_policy)$/i,
	],
	[
		'auth',
		/^(authentication_error|permission_error|invalid_api_key|unauthenticated|permission_denied|unauthorized|401)$/i,
	],
	['rate_limited', /^(rate_limit_error|rate_limit_exceeded|resource_exhausted|too_many_requests|429)$/i],
	['timeout', /^(timeout_error|deadline_exceeded|request_timeout|408)$/i],
	[
		'overloaded',
		/^(overloaded_error|overloaded|server_is_overloaded|slow_down|service_unavailable_error|api_error|server_error|internal_server_error|internal_error|internal|unavailable|service_unavailable|engine_overloaded|5\d\d)$/i,
	],
	[
		'invalid_request',
		/^(invalid_request_error|invalid_request|not_found_error|not_found|model_not_found|invalid_argument|failed_precondition|invalid_prompt|tool_use_failed|(invalid|empty|unsupported)_image\w*|image_(too|file|parse)_\w+|failed_to_download_image|400|404|422)$/i,
	],
];

const tooLong =
	/prompt is too long|maximum prompt length|context (length|window|limit)|maximum context|maximum number of tokens|too many (input )?tokens|input (is |length )?too long|input length and `?max_tokens`? exceed|reduce the length/i;
const filtered =
	/content (management |filtering )?policy|usage (guidelines|policies)|safety (system|check)|flagged (as|for|by)|content was (blocked|filtered)|content exists risk/i;
const badKey = /api key not valid|(incorrect|invalid) api key|api key (is )?(missing|expired|invalid)/i;
const noCredit = /credit balance is too low|insufficient (balance|credits|funds|quota)|exceeded your current quota/i;

function chooseCode({ kinds = [] }: Report, words: string, status: number | undefined): Verdict {
	const names = (verdict: Verdict): boolean =>
		kinds.some((kind) => verdicts.some(([name, pattern]) => name === verdict && pattern.test(kind)));
	if (
		names('insufficient_quota') ||
		status === 402 ||
		(status !== undefined && status < 500 && noCredit.test(words) && !kinds.includes('RESOURCE_EXHAUSTED'))
	)
		return 'insufficient_quota';
	const mayBeRefusal = status === undefined || (status >= 400 && status < 500 && status !== 429);
	if (names('context_overflow') || status === 413 || (mayBeRefusal && tooLong.test(words))) return 'context_overflow';
	if (names('content_filtered') || (mayBeRefusal && filtered.test(words))) return 'content_filtered';
	if (status === 400 && badKey.test(words)) return 'auth';
	if (status !== undefined && status >= 400) return findStatusCode(status);
	for (const [verdict, pattern] of verdicts) if (kinds.some((kind) => pattern.test(kind))) return verdict;
	return 'interrupted';
}

type Remedy = (caller: Caller) => string;

const remedies: Readonly<Record<string, Remedy>> = {
	auth: ({ keyName = 'the API key' }) => `Check ${keyName}.`,
	rate_limited: () => 'The provider limits how often it may be asked: wait, or raise the limit there.',
	insufficient_quota: () => 'The account has no credit left: top it up, or name another model.',
	overloaded: () => 'The provider is overloaded or fails: try again later, or name fallbacks.',
	context_overflow: () =>
		'The request is over the context limit: shorten the history, offer fewer tools, or use a model with a larger context window.',
	content_filtered: () => 'The provider refuses this content: change the message.',
	invalid_request: () => '',
	timeout: () => 'Try again, or ask for a shorter answer.',
	network: () => 'Check the base URL and the network, or send the message again.',
	interrupted: () => 'The reply broke off: send the message again.',
} satisfies Record<Exclude<Verdict, 'provider_error'> | 'network', Remedy>;

const notFound = "Check the model's name, and the base URL.";

function createRedirected({ displayName, model, variant: provider }: Caller, status: number): RunletError {
	const message = `${displayName} (${model}): the base URL leads somewhere else, where nothing is sent. Set the base URL to where the API is.`;
	return new RunletError('network', message, { model, provider, status });
}

function toPlainText(text: string, status: number | undefined): string | undefined {
	const trimmed = text.trim();
	if (trimmed === '') return undefined;
	if (!trimmed.startsWith('<')) return trimmed;
	return `${status === undefined ? '' : `status ${status} with `}a page of HTML instead of JSON: something between Runlet and the provider answered. Check the base URL and the proxy.`;
}

/** Creates the error for a web page instead of an answer. */
export function createNotTheApi({ displayName, model, variant: provider }: Caller): RunletError {
	const message = `${displayName} (${model}): ${toPlainText('<', undefined)}`;
	return new RunletError('network', message, { model, provider });
}

/** Finds the provider's complaint in an error of an adapter. SDKs wrap the errors that their `fetch` throws. */
export function findComplaint(thrown: unknown): Complaint | undefined {
	if (thrown instanceof ProviderComplaint) return thrown.complaint;
	return thrown instanceof Error && thrown.cause instanceof ProviderComplaint ? thrown.cause.complaint : undefined;
}

function readRetryAfter(headers: Headers | undefined): number | undefined {
	const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN);
	if (Number.isFinite(ms)) return Math.max(0, ms / 1000);
	const value = headers?.get('retry-after');
	return value === null || value === undefined ? undefined : parseRetryAfter(value);
}

function withCaller(error: RunletError, caller: Caller): RunletError {
	if (error.data?.model !== undefined || error.code === 'cancelled' || error.code === 'timeout') return error;
	const { displayName, model, variant: provider } = caller;
	const remedy = isRetryable(error) ? ' Send the message again.' : '';
	const message = redact(`${displayName} (${model}): ${error.message}${remedy}`, caller);
	return withData(error, { model, provider }, message);
}

/** Removes secrets from a text: the known secrets, and texts that look like a key, even a masked key. */
function redact(text: string, { secrets }: Caller): string {
	let out = text;
	for (const secret of secrets) out = out.replaceAll(secret, '[key]');
	return redactSecrets(out).replace(/\b((sk|xai|gsk|Bearer)[-_ ][\w*.-]{6,}|AIza[\w-]{6,})/g, '[key]');
}
