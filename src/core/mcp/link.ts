import type {
	Client,
	ElicitResult,
	JsonSchemaValidator,
	StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { RunletError } from '../base/errors.ts';
import { withTimeLimit } from '../base/promises.ts';
import { createRedactor, redactJson } from '../base/redactor.ts';
import { createScheduler, endWithStreams, toFailure } from './failure.ts';
import { createServerFetch } from './fetch.ts';
import type * as Sdk from './sdk.ts';
import type { ConnectionOptions, McpLogin, McpServer } from './server.ts';

/** The unchecked list of a server's tools. */
export interface Listed {
	readonly tools: readonly unknown[];
	/** The milliseconds for which the list is valid. */
	readonly ttlMs: number | undefined;
	/** Whether the server announces changes of the list. */
	readonly isWatched: boolean;
}

interface CallSettings {
	readonly signal: AbortSignal;
	readonly onProgress: (progress: {
		readonly progress: number;
		readonly total?: number;
		readonly message?: string;
	}) => void;
	/** The trace of the call (W3C Trace Context), for the server's own spans. */
	readonly traceparent?: string;
	/** The definition of the tool, which determines the headers. */
	readonly definition: { readonly name: string; readonly inputSchema: Readonly<Record<string, unknown>> };
}

/** The protocol connection to a server. It opens on demand. Its errors are `RunletError`s. */
export interface Link {
	list(): Promise<Listed>;
	/** Calls a tool. Returns the raw result without secrets. */
	call(params: Readonly<Record<string, unknown>>, settings: CallSettings): Promise<unknown>;
	/** Answers a question of the server during a call. */
	onElicit: (params: unknown) => Promise<ElicitResult>;
	/** Marks the list of tools as out of date. */
	readonly onListChanged: () => void;
	close(): Promise<void>;
}

/** The time limit for opening a connection, and for requesting a list, in milliseconds. */
const openMs = 30_000;
/** The time limit for ending a session, in milliseconds. */
const goodbyeMs = 3_000;
/** The timeout that the protocol's client gets for a call. `Caller` ends a call earlier. */
const longestMs = 2_000_000_000;
/** Codes of failures after which the outcome of a call is unknown. */
const vagueCodes: readonly string[] = ['network', 'timeout', 'too_large'];

interface Opened {
	readonly client: Client;
	readonly transport: StreamableHTTPClientTransport;
}

/** @param onListChanged called when the tools changed or the connection was lost */
export function createLink(server: McpServer, options: ConnectionOptions, onListChanged: () => void): Link {
	const { send, takeFailure } = createServerFetch(server, options);
	const login = options.login && watchLogin(options.login);
	let sdk: typeof Sdk | undefined;
	let opening: Promise<Opened> | undefined;
	const open = async (): Promise<Opened> => {
		sdk ??= await import('./sdk.ts');
		const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
			fetch: send,
			authProvider: login?.provider,
			requestInit: { headers: { ...server.headers } },
			reconnectionOptions: {
				initialReconnectionDelay: 500,
				maxReconnectionDelay: 5_000,
				reconnectionDelayGrowFactor: 2,
				maxRetries: 2,
			},
			reconnectionScheduler: createScheduler(),
		});
		endWithStreams(transport);
		const client = createClient(sdk, onListChanged);
		client.setRequestHandler('elicitation/create', ({ params }) => link.onElicit(params));
		await client.connect(transport, { timeout: openMs });
		return { client, transport };
	};
	const connect = (): Promise<Opened> => {
		opening ??= open().catch((thrown: unknown) => {
			opening = undefined;
			throw thrown;
		});
		return opening;
	};
	const redact = async () => createRedactor(listSecrets(server, options.secrets, await options.login?.tokens()));
	const fail = async (thrown: unknown): Promise<RunletError> => {
		const { code, message, data } = toFailure(thrown, { sdk, server, link: login?.takeLink(), cut: takeFailure() });
		return new RunletError(code, (await redact())(message), data, { cause: thrown });
	};
	const callOnce = async (params: Readonly<Record<string, unknown>>, settings: CallSettings): Promise<unknown> => {
		const { client } = await connect();
		const { signal, onProgress, definition, traceparent } = settings;
		const trace = traceparent === undefined ? undefined : { traceparent };
		return client.callTool(
			{ name: definition.name, ...params, ...(trace && { _meta: trace }) },
			{
				signal,
				headers: trace,
				timeout: longestMs,
				onprogress: onProgress,
				allowInputRequired: true,
				toolDefinition: { name: definition.name, inputSchema: { ...definition.inputSchema, type: 'object' } },
			},
		);
	};
	const link: Link = {
		onElicit: async () => ({ action: 'cancel' }),
		onListChanged,
		list: async () => {
			try {
				const { client } = await connect();
				const { tools, ttlMs } = await client.listTools(undefined, { cacheMode: 'refresh', timeout: openMs });
				const isWatched = client.getServerCapabilities()?.tools?.listChanged === true;
				const isModern = client.getProtocolEra() === 'modern';
				return { tools, ttlMs: isModern ? Number(ttlMs ?? 0) : undefined, isWatched };
			} catch (thrown) {
				throw await fail(thrown);
			}
		},
		call: async (params, settings) => {
			try {
				takeFailure();
				const result = await callOnce(params, settings).catch(async (thrown: unknown) => {
					if (!isLostSession(thrown, sdk)) throw thrown;
					// The server has lost the session, so it did not run the call.
					await link.close();
					onListChanged();
					return callOnce(params, settings);
				});
				return redactJson(result, await redact());
			} catch (thrown) {
				settings.signal.throwIfAborted();
				const { code, message, data, cause } = await fail(thrown);
				const more = vagueCodes.includes(code) ? ' The call may have had effects.' : '';
				throw new RunletError(code, message + more, data, { cause });
			}
		},
		close: async () => {
			const opened = opening;
			opening = undefined;
			await opened?.then(end).catch(() => {});
		},
	};
	return link;
}

function createClient(sdk: typeof Sdk, onListChanged: () => void): Client {
	return new sdk.Client(
		{ name: 'runlet', version: '0.1.0' },
		{
			capabilities: { elicitation: { form: {}, url: {} } },
			versionNegotiation: { mode: 'auto', probe: { timeoutMs: openMs } },
			inputRequired: { autoFulfill: false },
			listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
			// `readCallResult` checks outputs with Runlet's bounded check.
			jsonSchemaValidator: { getValidator: acceptAny },
		},
	);
}

function acceptAny<T>(): JsonSchemaValidator<T> {
	// SAFETY: the client only passes the data on.
	return (data) => ({ valid: true, data: data as T, errorMessage: undefined });
}

/** A server answers 404 for a lost session (version 2025-11-25, "Session Management"). */
function isLostSession(thrown: unknown, sdk: typeof Sdk | undefined): boolean {
	return sdk !== undefined && thrown instanceof sdk.SdkHttpError && thrown.status === 404;
}

async function end({ client, transport }: Opened): Promise<void> {
	await withTimeLimit(transport.terminateSession(), goodbyeMs, 'The server').catch(() => {});
	await client.close();
}

/** Records the link to the login page. Repeats the discovery, because a server may change its authorization server. */
function watchLogin(login: McpLogin) {
	let seen: URL | undefined;
	const provider: Omit<McpLogin, 'discoveryState'> = new Proxy(login, {
		get: (target, key) => {
			if (key === 'redirectToAuthorization')
				return async (url: URL): Promise<void> => {
					seen = url;
					await target.redirectToAuthorization(url);
				};
			if (key === 'discoveryState') return undefined;
			const value: unknown = Reflect.get(target, key);
			return typeof value === 'function' ? value.bind(target) : value;
		},
	});
	return {
		provider,
		takeLink: () => {
			const last = seen;
			seen = undefined;
			return last?.href;
		},
	};
}

const secretHeader = /auth|cookie|credential|key|pass|secret|token/i;

/** Lists the secrets to remove from results: secret headers, the named `secrets`, and the tokens of a login. */
function listSecrets(
	{ headers = {} }: McpServer,
	secrets: readonly string[] = [],
	tokens?: { readonly access_token: string; readonly refresh_token?: string },
): readonly string[] {
	const inHeaders = Object.entries(headers).flatMap(([name, value]) =>
		secretHeader.test(name) ? [value, value.replace(/^\w+ /, '')] : [],
	);
	const all = [...inHeaders, ...secrets, tokens?.access_token ?? '', tokens?.refresh_token ?? ''];
	return all.filter((secret) => /^[\x20-\x7e]{4,}$/.test(secret));
}
