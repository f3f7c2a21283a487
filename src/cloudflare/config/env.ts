import type { Env } from '../../core/base/env.ts';
import type { AiBinding } from '../../core/providers/index.ts';
import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import type { DirectoryNamespace } from '../objects/directory/api.ts';
import type { LedgerNamespace } from '../objects/ledger/api.ts';
import type { MemoryNamespace } from '../objects/memory/api.ts';
import type { PublisherNamespace } from '../objects/publisher/api.ts';
import type { SessionNamespace } from '../objects/session-api.ts';
import type { SourceName } from '../wire/protocols/webhooks/source.ts';

/** Providers with two variables each: `NAME_API_KEY`, and `NAME_BASE_URL` for a gateway, a proxy or your own server. */
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

/** Each may hold several secrets, with spaces or commas between them, while a sender changes its secret. */
type WebhookVariables = { readonly [S in SourceName as `${Uppercase<S>}_WEBHOOK_SECRET`]?: string } & {
	/** For one agent: its name in capitals, with underscores for hyphens. */
	readonly [own: `${Uppercase<SourceName>}_WEBHOOK_SECRET_${string}`]: string | undefined;
};

/** What Runlet reads of the environment, under its own names: the bindings of `wrangler.toml`, and variables. */
export interface WorkerEnv extends Env, EndpointVariables, WebhookVariables {
	/** The sessions. */
	readonly SESSIONS?: SessionNamespace;
	/** What each owner spent. */
	readonly LEDGERS?: LedgerNamespace;
	/** The list of each owner's sessions. */
	readonly DIRECTORIES?: DirectoryNamespace;
	/** Published skills. */
	readonly SKILLS?: SkillsNamespace;
	/** The object that writes them over HTTP. */
	readonly PUBLISHERS?: PublisherNamespace;
	/** What agents remember of each person. */
	readonly MEMORIES?: MemoryNamespace;
	/** The files of the page, for a Worker that serves it itself. */
	readonly PAGE?: PageFiles;
	/** The larger files of sessions. */
	readonly FILES?: FileBucket;
	/** Makes the isolates in which `run_shell` runs commands. */
	readonly LOADER?: WorkerLoader;
	/** Workers AI. */
	readonly AI?: AiBinding;
	/** Analytics Engine: one point for each run. */
	readonly METRICS?: MetricsDataset;
	/** Counts the requests of each key. */
	readonly RATE_LIMITER?: RateLimiter;
	/** The model of every agent that names none. `demo` if it is not set. */
	readonly MODEL?: string;
	/** The most that an owner may spend on a UTC day, in tokens and in US dollars. `wrangler.toml` may have numbers. */
	readonly DAY_BUDGET_TOKENS?: string | number;
	readonly DAY_BUDGET_USD?: string | number;
	/** The most that a session may spend if its agent has no budget. */
	readonly SESSION_BUDGET_TOKENS?: string | number;
	readonly SESSION_BUDGET_USD?: string | number;
	/** The most files of a session, and their most bytes together. */
	readonly WORKSPACE_FILES?: string | number;
	readonly WORKSPACE_BYTES?: string | number;
	readonly SESSION_BYTES?: string | number;
	readonly OWNER_BYTES?: string | number;
	readonly USER_BYTES?: string | number;
	/** The hashes of the API keys, as `npm run keys` writes them. */
	readonly API_KEYS?: string;
	/** Whether further keys are stored in objects, made by `POST /v1/keys`: `on` or `off`. */
	readonly STORED_KEYS?: string;
	/** Origins of pages on other hosts that may call this Worker, such as `https://app.example.com`, with commas. */
	readonly CORS_ORIGINS?: string;
	/** Signs callbacks: `whsec_` and base64; may hold several. */
	readonly CALLBACK_SECRET?: string;
	/** The address that is told when 50, 80 and 100 % of a budget are spent. */
	readonly SPENDING_CALLBACK?: string;
	/** Seals the secrets of owners: 32 bytes as base64. May hold several: the first seals, all open. */
	readonly SECRETS_KEY?: string;
	/** Where people reach this Worker, with its base path: logins of MCP servers come back there. */
	readonly PUBLIC_URL?: string;
	/** Posts comments on GitHub issues. It needs the permission to write issues, and no other. */
	readonly GITHUB_TOKEN?: string;
	/** The address of GitHub's API, for a GitHub of your own. `https://api.github.com` if it is not set. */
	readonly GITHUB_API_URL?: string;
	/** The key of Brave Search, or of Tavily, for `web_search`. */
	readonly BRAVE_API_KEY?: string;
	readonly TAVILY_API_KEY?: string;
	/** Another service for `web_search`: its address with `{query}` in it. It comes before the two. */
	readonly SEARCH_URL?: string;
	/** Its key, and the header for the key: `authorization`, as a bearer, if it is not set. */
	readonly SEARCH_API_KEY?: string;
	readonly SEARCH_HEADER?: string;
	/** A JSON body with `{query}` in it, for a service that takes a POST. */
	readonly SEARCH_BODY?: string;
	/** Where its answer has the results: `LIST: TITLE, URL, SNIPPET`. */
	readonly SEARCH_FIELDS?: string;
	/**
	 * Requests that carry this secret need no API key. Each `npm start` makes a new one for its proxy. `true`, for tests,
	 * lets in every request that names this machine as its host.
	 */
	readonly LOCAL?: string;
}

/** A binding of static assets, as far as it is used. */
export interface PageFiles {
	fetch(request: Request): Promise<Response>;
}

/** An R2 bucket, as far as it is used. */
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

/** An object of a bucket that is written part by part. It is there once it is complete. */
export interface BucketUpload {
	/** Parts count from 1. All but the last have the same size. */
	uploadPart(part: number, value: Uint8Array): Promise<UploadedPart>;
	complete(parts: UploadedPart[]): Promise<unknown>;
	abort(): Promise<void>;
}

/** A part of an upload. */
export interface UploadedPart {
	partNumber: number;
	etag: string;
}

/** The Rate Limiting binding, as far as it is used. */
export interface RateLimiter {
	limit(request: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/** The variable with the secrets of each webhook source. */
export const secretNames = {
	standard: 'STANDARD_WEBHOOK_SECRET',
	github: 'GITHUB_WEBHOOK_SECRET',
	stripe: 'STRIPE_WEBHOOK_SECRET',
	slack: 'SLACK_WEBHOOK_SECRET',
	hmac: 'HMAC_WEBHOOK_SECRET',
} as const satisfies Record<SourceName, keyof WebhookVariables>;

/** A dataset of Workers Analytics Engine, as far as it is used. */
export interface MetricsDataset {
	writeDataPoint(point: DataPoint): void;
}

/** The columns `index1`, `blob1`…, `double1`… of a row. */
export interface DataPoint {
	readonly indexes: [string];
	readonly blobs: string[];
	readonly doubles: number[];
}
