import type { Env } from '../../core/base/env.ts';
import type { AiBinding } from '../../core/providers/index.ts';
import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import type { DirectoryNamespace } from '../objects/directory/api.ts';
import type { LedgerNamespace } from '../objects/ledger/api.ts';
import type { MemoryNamespace } from '../objects/memory/api.ts';
import type { PublisherNamespace } from '../objects/publisher/api.ts';
import type { SessionNamespace } from '../objects/session-api.ts';
import type { SourceName } from '../wire/protocols/webhooks/source.ts';

/** Each name has the variables `NAME_API_KEY` and `NAME_BASE_URL` (for a gateway, a proxy or your own server). */
export const endpointNames = [
	'ANTHROPIC',
	'OPENAI',
	'XAI',
	'GEMINI',
	'GROQ',
	'DEEPSEEK',
	'MISTRAL',
	'OLLAMA',
	'CHAT',
] as const;

export type EndpointName = (typeof endpointNames)[number];

type EndpointVariables = { readonly [N in EndpointName as `${N}_API_KEY` | `${N}_BASE_URL`]?: string };

/** A variable can contain several secrets, separated by spaces or commas, to rotate a secret. */
type WebhookVariables = { readonly [S in SourceName as `${Uppercase<S>}_WEBHOOK_SECRET`]?: string } & {
	/** The secret for one agent. The variable ends with the agent's name, in capitals with underscores for hyphens. */
	readonly [own: `${Uppercase<SourceName>}_WEBHOOK_SECRET_${string}`]: string | undefined;
};

/** The bindings of `wrangler.toml` and the variables, under Runlet's names. */
export interface WorkerEnv extends Env, EndpointVariables, WebhookVariables {
	readonly SESSIONS?: SessionNamespace;
	readonly LEDGERS?: LedgerNamespace;
	readonly DIRECTORIES?: DirectoryNamespace;
	/** Published skills. */
	readonly SKILLS?: SkillsNamespace;
	readonly PUBLISHERS?: PublisherNamespace;
	/** The memories of each person. */
	readonly MEMORIES?: MemoryNamespace;
	/** The files of the page, if the Worker serves it itself. */
	readonly PAGE?: PageFiles;
	/** The larger files of sessions. */
	readonly FILES?: FileBucket;
	/** Makes the isolates of `run_shell`. */
	readonly LOADER?: WorkerLoader;
	readonly AI?: AiBinding;
	/** Analytics Engine: a point for each run. */
	readonly METRICS?: MetricsDataset;
	/** Counts the requests of each key. */
	readonly RATE_LIMITER?: RateLimiter;
	/** The model of agents that name no model. `demo` by default. */
	readonly MODEL?: string;
	/** The most that an owner can spend on a UTC day. */
	readonly DAY_BUDGET_TOKENS?: string | number;
	readonly DAY_BUDGET_USD?: string | number;
	/** The most that a session can spend if its agent has no budget. */
	readonly SESSION_BUDGET_TOKENS?: string | number;
	readonly SESSION_BUDGET_USD?: string | number;
	/** How many files a session can have, and how many bytes these files can have in total. */
	readonly WORKSPACE_FILES?: string | number;
	readonly WORKSPACE_BYTES?: string | number;
	readonly SESSION_BYTES?: string | number;
	readonly OWNER_BYTES?: string | number;
	readonly USER_BYTES?: string | number;
	/** Where all data is stored and processed: `eu`, `us`, `fedramp` or `fedramp-high`. It can never change. */
	readonly JURISDICTION?: string;
	/** Where new objects begin, such as `weur`. */
	readonly LOCATION_HINT?: string;
	/** Where the objects of owners live: `{"acme":{"jurisdiction":"eu","locationHint":"weur"}}`. It can never change. */
	readonly OWNER_PLACES?: string;
	/** Owners whose list and ledger are split into 64 objects each, separated by commas (docs/scale.md). */
	readonly LARGE_OWNERS?: string;
	/** `on` keeps a list of the sessions of all owners, for `owner=*` (docs/api.md, "Lists of all owners"). */
	readonly LIST_ALL_OWNERS?: string;
	/** After how many days without use a session moves to the bucket `FILES` (docs/data.md, "Archive"). Never by default. */
	readonly ARCHIVE_AFTER_DAYS?: string | number;
	/** The hashes of the API keys, as `npm run keys` writes them. */
	readonly API_KEYS?: string;
	/** `on` allows keys that are stored in Durable Objects (`POST /v1/keys`). */
	readonly STORED_KEYS?: string;
	/** Origins whose pages are allowed to call, such as `https://app.example.com`, separated by commas. */
	readonly CORS_ORIGINS?: string;
	/** The secret that signs callbacks: `whsec_` and base64. The variable can contain several secrets. */
	readonly CALLBACK_SECRET?: string;
	/** The URL of alerts when 50, 80 and 100 % of a budget are spent. */
	readonly SPENDING_CALLBACK?: string;
	/** The key that seals owners' secrets: 32 bytes as base64. With several keys, the first seals and all open. */
	readonly SECRETS_KEY?: string;
	/** The public address of this Worker, with its base path. Logins of MCP servers return to this address. */
	readonly PUBLIC_URL?: string;
	/** The token for comments on GitHub issues. It needs only the permission to write issues. */
	readonly GITHUB_TOKEN?: string;
	/** GitHub's API. `https://api.github.com` by default. */
	readonly GITHUB_API_URL?: string;
	/** The key of Brave Search or Tavily, for `web_search`. */
	readonly BRAVE_API_KEY?: string;
	readonly TAVILY_API_KEY?: string;
	/** The address of another search service, with `{query}` in it. It is used instead of Brave and Tavily. */
	readonly SEARCH_URL?: string;
	/** The key of this search service, and the header for the key. By default `authorization`, as a bearer token. */
	readonly SEARCH_API_KEY?: string;
	readonly SEARCH_HEADER?: string;
	/** The JSON body for a service with POST. The body has `{query}` in it. */
	readonly SEARCH_BODY?: string;
	/** The fields of the results in the service's answer: `LIST: TITLE, URL, SNIPPET`. */
	readonly SEARCH_FIELDS?: string;
	/**
	 * The secret that allows requests without an API key. Each `npm start` makes a new one for its proxy. `true`, for
	 * tests, allows every request whose host is this machine.
	 */
	readonly LOCAL?: string;
}

export interface PageFiles {
	fetch(request: Request): Promise<Response>;
}

export interface FileBucket {
	get(
		key: string,
		options: { readonly range: { readonly offset: number; readonly length: number } },
	): Promise<{ readonly body: ReadableStream<Uint8Array>; arrayBuffer(): Promise<ArrayBuffer> } | null>;
	put(key: string, value: Uint8Array): Promise<unknown>;
	delete(keys: string[]): Promise<void>;
	list(options: { readonly prefix: string }): Promise<{ readonly objects: readonly { readonly key: string }[] }>;
	createMultipartUpload(key: string): Promise<BucketUpload>;
}

/** An upload of an object part by part. The object exists only when the upload is complete. */
export interface BucketUpload {
	/** Parts are numbered from 1. All parts but the last have the same size. */
	uploadPart(part: number, value: Uint8Array): Promise<UploadedPart>;
	complete(parts: UploadedPart[]): Promise<unknown>;
	abort(): Promise<void>;
}

export interface UploadedPart {
	partNumber: number;
	etag: string;
}

export interface RateLimiter {
	limit(request: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/** Returns the variable with the secret of a webhook source. */
export function toSecretName(source: SourceName): `${Uppercase<SourceName>}_WEBHOOK_SECRET` {
	return `${source.toUpperCase() as Uppercase<SourceName>}_WEBHOOK_SECRET`;
}

export interface MetricsDataset {
	writeDataPoint(point: DataPoint): void;
}

/** A row: the columns `index1`, `blob1`…, `double1`…. */
export interface DataPoint {
	readonly indexes: [string];
	readonly blobs: string[];
	readonly doubles: number[];
}
