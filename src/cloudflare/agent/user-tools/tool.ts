import { RunletError } from '../../../core/base/errors.ts';
import { publicFetch } from '../../../core/base/public-fetch.ts';
import { createRedactor, redactJson } from '../../../core/base/redactor.ts';
import { define, type Tool } from '../../../core/tool/index.ts';
import type { Secrets } from '../registered-secrets.ts';
import { requireFields, type StoredTool } from './definition.ts';
import { fillHeaders } from './headers.ts';
import { readTemplate, toText } from './template.ts';

export interface UserToolOptions {
	/** Opens the secrets for each call, so that they are in memory no longer than needed. */
	readonly openSecrets: () => Promise<Secrets>;
	/** Whether the tool is allowed to reach this machine. Only under `npm start`. */
	readonly allowLoopback: boolean;
	/** The default is the platform's `fetch`. */
	readonly fetch?: (input: URL, init: RequestInit) => Promise<Response>;
}

const maxRedirects = 5;

/** How many characters of a failed answer the model gets at most. */
const longestFailure = 2_000;

/** Makes an HTTP tool. Removes secrets from its results and messages, even if the server repeats them. */
export function createUserTool(name: string, stored: StoredTool, options: UserToolOptions): Tool {
	const { description, inputSchema, url, method } = stored;
	const { allowLoopback } = options;
	const { fields } = readTemplate(url, { allowLoopback });
	const where = `${method} ${url}`;
	return define({
		name,
		description,
		inputSchema: requireFields(inputSchema, fields),
		passInput: true,
		reads: 'outside',
		writes: 'outside',
		// A request that only reads is safe to repeat.
		...(method === 'GET' ? { retry: 'safe' as const } : { sequential: true }),
		onRequest: () => ['Calling', where],
		fn: async (input, { signal }) => {
			const request = createRequest(stored, input, allowLoopback);
			const secrets = await options.openSecrets();
			const redact = createRedactor(Object.values(secrets));
			const headers = { ...request.headers, ...fillHeaders(stored.headers, secrets) };
			const response = await publicFetch(
				request.url,
				{ method, headers, signal, ...(request.body !== undefined && { body: request.body }) },
				{
					maxBytes: stored.maxResponseBytes,
					timeoutMs: stored.timeoutMs,
					maxRedirects,
					allowLoopback,
					...(options.fetch !== undefined && { fetch: options.fetch }),
				},
			);
			const { status } = response;
			const contentType = redact(readMediaType(response));
			const text = redact(await readText(response, contentType));
			if (status >= 400) throw createFailure(`${where} answered ${status}`, text);
			return { status, contentType, body: readBody(text, contentType, redact) };
		},
	});
}

interface UserRequest {
	readonly url: URL;
	readonly headers: Readonly<Record<string, string>>;
	readonly body?: string;
}

function createRequest(
	{ url, method }: StoredTool,
	input: Readonly<Record<string, unknown>>,
	allowLoopback: boolean,
): UserRequest {
	const { fields, fill } = readTemplate(url, { allowLoopback });
	const target = fill(input);
	const rest = Object.entries(input).filter(([field, value]) => !fields.includes(field) && value !== undefined);
	const accept = { accept: 'application/json, text/*;q=0.9, */*;q=0.1' };
	if (method === 'GET') {
		const added = rest.flatMap(([field, value]) =>
			toQueryTexts(field, value).map((text) => `${encodeURIComponent(field)}=${encodeURIComponent(text)}`),
		);
		target.search = [target.search, ...added].filter((part) => part !== '').join('&');
		return { url: target, headers: accept };
	}
	if (method === 'DELETE' && rest.length === 0) return { url: target, headers: accept };
	const body = JSON.stringify(Object.fromEntries(rest));
	return { url: target, headers: { ...accept, 'content-type': 'application/json' }, body };
}

/** A list repeats the parameter, an object is JSON, and `null` is left out. */
function toQueryTexts(field: string, value: unknown): readonly string[] {
	if (value === null) return [];
	if (Array.isArray(value)) return value.flatMap((item) => toQueryTexts(field, item));
	return [typeof value === 'object' ? JSON.stringify(value) : toText(value, field)];
}

function readMediaType(response: Response): string {
	return response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Reads the answer in its encoding. Throws for bytes that are not text. */
async function readText(response: Response, contentType: string): Promise<string> {
	const bytes = new Uint8Array(await response.arrayBuffer());
	const [, charset = 'utf-8'] = /charset="?([\w-]{1,40})/i.exec(response.headers.get('content-type') ?? '') ?? [];
	try {
		const text = new TextDecoder(charset, { fatal: true, ignoreBOM: false }).decode(bytes);
		if (!text.includes('\0')) return text;
	} catch {
		// The encoding is unknown, or the bytes are not text.
	}
	throw new RunletError(
		'invalid_argument',
		`The answer is no text: ${bytes.length} bytes of ${contentType || 'an unknown type'}.`,
	);
}

/** Parses JSON, and removes secrets from its texts once more. */
function readBody(text: string, contentType: string, redact: (text: string) => string): unknown {
	if (!/[/+]json$/.test(contentType)) return text;
	try {
		return redactJson(JSON.parse(text), redact);
	} catch {
		return text;
	}
}

function createFailure(what: string, text: string): RunletError {
	const shown = text.length > longestFailure ? `${text.slice(0, longestFailure)}…` : text;
	return new RunletError('network', shown.trim() === '' ? `${what}.` : `${what}: ${shown}`);
}
