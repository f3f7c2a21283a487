import * as v from 'valibot';
import { check } from '../../core/ground/check.ts';
import { RunletError, toMessageText } from '../../core/ground/errors.ts';
import type { AiBinding } from '../../core/providers/index.ts';
import type { SkillsNamespace } from '../../core/skill/kv/store.ts';
import { localIdentity, webhookOwner } from '../auth/identity.ts';
import { isOver, type KeyRecord, parseKeys } from '../auth/key.ts';
import type { LocalMode } from '../auth/local.ts';
import type { Limit } from '../rpc/budget.ts';
import type { DirectoryNamespace } from '../rpc/directory.ts';
import type { LedgerNamespace } from '../rpc/ledger.ts';
import type { PublisherNamespace } from '../rpc/publisher.ts';
import { createLimitedKv } from '../rpc/reach.ts';
import type { SessionNamespace } from '../rpc/session.ts';
import { type SourceName, sourceNames } from '../webhooks/source.ts';
import { defaultBudgets } from './default-budgets.ts';

/**
 * Providers that are configured by two variables each: `NAME_API_KEY`, and `NAME_BASE_URL` for a gateway, a proxy or a
 * server of one's own.
 */
const endpointNames = ['ANTHROPIC', 'OPENAI', 'XAI', 'GEMINI', 'GROQ', 'DEEPSEEK', 'MISTRAL', 'OLLAMA'] as const;

export type EndpointName = (typeof endpointNames)[number];

type EndpointVariables = { readonly [N in EndpointName as `${N}_API_KEY` | `${N}_BASE_URL`]?: string };

/** Each may hold several secrets, with spaces or commas, while a sender changes from one to another. */
type WebhookVariables = { readonly [S in SourceName as `${Uppercase<S>}_WEBHOOK_SECRET`]?: string } & {
	/** Of one agent: its name in capitals, hyphens as underscores. */
	readonly [own: `${Uppercase<SourceName>}_WEBHOOK_SECRET_${string}`]: string | undefined;
};

/** What `wrangler.toml` binds, and what the environment may set. */
export interface Env extends EndpointVariables, WebhookVariables {
	/** Sessions: the Durable Object class of `worker.ts`. */
	readonly SESSIONS: SessionNamespace;
	/** What each owner spent. */
	readonly LEDGERS: LedgerNamespace;
	/** The list of each owner's sessions. */
	readonly DIRECTORIES: DirectoryNamespace;
	/** Published skills. */
	readonly SKILLS: SkillsNamespace;
	/** Who writes them over HTTP. */
	readonly PUBLISHERS: PublisherNamespace;
	/** Workers AI. */
	readonly AI?: AiBinding;
	/** Analytics Engine: a point a run. */
	readonly METRICS?: MetricsDataset;
	/** Model of every agent that names none; `demo`. */
	readonly MODEL?: string;
	/** The most that an owner may spend on a UTC day: tokens, and US dollars. In `wrangler.toml` a number may be one. */
	readonly DAY_BUDGET_TOKENS?: string | number;
	readonly DAY_BUDGET_USD?: string | number;
	/** The most that a session may spend whose agent has no budget, likewise. */
	readonly SESSION_BUDGET_TOKENS?: string | number;
	readonly SESSION_BUDGET_USD?: string | number;
	/** The hashes of the API keys, as `npm run keys` writes them. */
	readonly API_KEYS?: string;
	/** Origins of pages on other hosts that may call this Worker: `https://app.example.com`, several with commas. */
	readonly CORS_ORIGINS?: string;
	/** Counts requests by key. */
	readonly RATE_LIMITER?: RateLimiter;
	/** Signs callbacks: `whsec_` and base64, or several. */
	readonly CALLBACK_SECRET?: string;
	/** Posts comments to issues of GitHub; may write issues, and nothing else. */
	readonly GITHUB_TOKEN?: string;
	/** Where GitHub's API is, of a GitHub of one's own: `https://api.github.com`. */
	readonly GITHUB_API_URL?: string;
	/**
	 * Answers without an API key: to the requests that carry this secret, which each `npm start` makes anew for its proxy.
	 * `true`, for tests, answers whoever names this machine.
	 */
	readonly LOCAL?: string;
}

/** The Rate Limiting binding, as far as it is used. */
export interface RateLimiter {
	limit(request: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/** The environment, read and checked. */
export interface Config {
	readonly sessions: SessionNamespace;
	readonly ledgers: LedgerNamespace;
	readonly directories: DirectoryNamespace;
	readonly skills: SkillsNamespace;
	readonly publishers: PublisherNamespace;
	/**
	 * The most that an owner may spend on a UTC day: the tightest of what its keys say, else what holds for everybody; and
	 * nothing once the last of its keys is revoked, so that its runs stop.
	 */
	readonly findDayBudget: (owner: string) => Limit;
	/** What a session may spend that has no budget of its own and none of its agent's. */
	readonly sessionBudget: Limit;
	/** What an owner may spend on a UTC day whose keys do not say. */
	readonly dayBudget: Limit;
	/** Whether a key was not revoked, and is not over, so that what came from it is good. */
	readonly knowsKey: (id: string) => boolean;
	readonly model: string;
	/** Nobody but this machine is answered where there are none. */
	readonly keys: readonly KeyRecord[];
	/** Origins of pages that may call, as a browser sends them. */
	readonly corsOrigins: readonly string[];
	readonly rateLimiter: RateLimiter | undefined;
	readonly local: LocalMode | undefined;
	readonly metrics: MetricsDataset | undefined;
	/** Where a provider is, and the key that it asks for, as far as they are set. */
	readonly findEndpoint: (name: EndpointName) => Endpoint;
	readonly ai: AiBinding | undefined;
	/**
	 * The active secrets of a source, one at least; throws `not_configured` where there is none. An agent that has secrets
	 * of its own takes no others: what was signed for another agent is not signed for it.
	 */
	readonly webhookSecrets: (source: SourceName, agent: string) => readonly string[];
	/** What callbacks are signed with, one at least; throws `not_configured` where there is none. */
	readonly callbackSecrets: () => readonly string[];
	/** What comments are posted to GitHub with. */
	readonly github: { readonly token: string | undefined; readonly baseURL: string };
}

export interface Endpoint {
	readonly apiKey: string | undefined;
	readonly baseURL: string | undefined;
}

const none = 'none';

/** `none` is no cap. Set to nothing it is refused: who writes a budget down does not want to have none. */
const budget = (form: RegExp, message: string) =>
	v.optional(
		v.pipe(
			v.union([v.string(), v.number()], message),
			v.transform((value) => String(value).trim()),
			v.check((value) => value === none || form.test(value), message),
			v.transform((value) => (value === none ? none : Number(value))),
			v.check((value) => value === none || (value > 0 && value <= Number.MAX_SAFE_INTEGER), message),
		),
	);
const noBudget = 'Set it under [vars] in wrangler.toml, or to none for no limit';
const tokenBudget = budget(/^\d{1,16}$/, `must be a whole number above 0, such as 2000000. ${noBudget}`);
const dollarBudget = budget(/^\d{1,16}(\.\d{1,16})?$/, `must be a number above 0, such as 2.50. ${noBudget}`);

const variables = v.object({
	MODEL: v.optional(
		v.pipe(v.string(), v.trim(), v.nonEmpty('must not be empty. Set it under [vars] in wrangler.toml')),
		'demo',
	),
	DAY_BUDGET_TOKENS: tokenBudget,
	DAY_BUDGET_USD: dollarBudget,
	SESSION_BUDGET_TOKENS: tokenBudget,
	SESSION_BUDGET_USD: dollarBudget,
	API_KEYS: v.optional(
		v.pipe(
			v.string(),
			v.trim(),
			v.transform((text) => (text === '' ? [] : parseKeys(text))),
		),
		'',
	),
	CORS_ORIGINS: v.optional(
		v.pipe(
			v.string(),
			v.transform((text) => text.split(/[\s,]+/).filter((origin) => origin !== '')),
			v.check((origins) => origins.every(isOrigin), 'expected origins such as https://app.example.com, with commas'),
		),
		'',
	),
	LOCAL: v.optional(
		v.pipe(
			v.string(),
			v.regex(
				/^(true|false|[\w-]{32,64})$/,
				'must be true, false or a secret of 32 characters. It is set by npm start',
			),
			v.transform((mode) => (mode === 'false' ? undefined : { secret: mode === 'true' ? undefined : mode })),
		),
		'false',
	),
});

/** A variable that is set to nothing is not set: a `.dev.vars` may wait for its keys. */
const text = v.optional(
	v.pipe(
		v.string(),
		v.trim(),
		v.transform((value) => value || undefined),
	),
);
const url = v.pipe(
	text,
	v.check((value) => value === undefined || URL.canParse(value), 'must be a URL, such as https://gateway.example.com'),
);

const known = new WeakMap<Env, Config>();

/**
 * The only reader of `env`. Throws `not_configured` that names the variable or binding and says where to set it.
 */
export function config(env: Env): Config {
	const cached = known.get(env);
	if (cached !== undefined) return cached;
	const {
		MODEL: model,
		API_KEYS: keys,
		CORS_ORIGINS: corsOrigins,
		LOCAL: local,
		...caps
	} = check(variables, env, 'env', 'not_configured');
	for (const name of bindingNames) assertBound(env, name);
	const dayBudget = findLimit(caps.DAY_BUDGET_TOKENS, caps.DAY_BUDGET_USD, defaultBudgets.day);
	const sessionBudget = findLimit(caps.SESSION_BUDGET_TOKENS, caps.SESSION_BUDGET_USD, defaultBudgets.session);
	const endpoints = new Map(endpointNames.map((name) => [name, readEndpoint(env, name)]));
	const secrets = new Map(sourceNames.map((source) => [source, readSecrets(env, secretNames[source])]));
	const callbackSecrets = readSecrets(env, 'CALLBACK_SECRET');
	const read: Config = {
		sessions: env.SESSIONS,
		ledgers: env.LEDGERS,
		directories: env.DIRECTORIES,
		skills: createLimitedKv(env.SKILLS),
		publishers: env.PUBLISHERS,
		knowsKey: (id) => keys.length === 0 || keys.some((key) => key.id === id && !isOver(key)),
		dayBudget,
		sessionBudget,
		findDayBudget: (owner) => (isKnown(keys, owner) ? findCaps(keys, owner, dayBudget) : { tokens: 0 }),
		model,
		keys,
		corsOrigins,
		rateLimiter: env.RATE_LIMITER,
		local,
		metrics: env.METRICS,
		findEndpoint: (name) => endpoints.get(name) ?? { apiKey: undefined, baseURL: undefined },
		ai: env.AI,
		webhookSecrets: (source, agent) => {
			const own = `${secretNames[source]}_${agent.toUpperCase().replaceAll('-', '_')}` as const;
			if (env[own] !== undefined) return assertGiven(readSecrets(env, own), own);
			return assertGiven(secrets.get(source) ?? [], secretNames[source]);
		},
		callbackSecrets: () => assertGiven(callbackSecrets, 'CALLBACK_SECRET'),
		github: githubIn(env),
	};
	known.set(env, read);
	return read;
}

/** Who is let in: what can be known where another variable is wrong. Throws as `config` does for these two. */
export function readDoor(env: Env): Pick<Config, 'keys' | 'local'> {
	const cached = known.get(env);
	if (cached !== undefined) return cached;
	const door = v.pick(variables, ['API_KEYS', 'LOCAL']);
	const { API_KEYS: keys, LOCAL: local } = check(door, env, 'env', 'not_configured');
	return { keys, local };
}

/** Something that has to be mended before all works. */
export interface Problem {
	/** The variable, binding or agent. */
	readonly where: string;
	/** What is wrong with it, and what to do. */
	readonly message: string;
}

/** Everything that `config` refuses, and not only the first of it. */
export function findConfigProblems(env: Env): readonly Problem[] {
	const checks = [
		...Object.entries(variables.entries).map(
			([name, schema]) =>
				() =>
					check(v.object({ [name]: schema }), env, name, 'not_configured'),
		),
		...bindingNames.map((name) => () => assertBound(env, name)),
		...endpointNames.map((name) => () => readEndpoint(env, name)),
		...[...Object.values(secretNames), 'CALLBACK_SECRET' as const].map((name) => () => readSecrets(env, name)),
	];
	return checks.flatMap((run) => {
		try {
			run();
			return [];
		} catch (error) {
			const [, where = 'env', message = toMessageText(error)] = /^(\w+): (.*)$/s.exec(toMessageText(error)) ?? [];
			return [{ where, message }];
		}
	});
}

const bindingNames = ['SESSIONS', 'LEDGERS', 'DIRECTORIES', 'SKILLS', 'PUBLISHERS'] as const;

function assertBound(env: Env, name: (typeof bindingNames)[number]): void {
	if (env[name] === undefined)
		throw new RunletError('not_configured', `${name}: this binding is missing in wrangler.toml.`);
}

/** What two variables say; where neither is set, what holds by itself. */
function findLimit(
	tokens: number | typeof none | undefined,
	usd: number | typeof none | undefined,
	byItself: Limit,
): Limit {
	if (tokens === undefined && usd === undefined) return byItself;
	return { tokens: tokens === none ? undefined : tokens, usd: usd === none ? undefined : usd };
}

/** Owners without a key: this machine, and senders of webhooks, which sign what they send. */
const keyless: ReadonlySet<string> = new Set([localIdentity.owner, webhookOwner]);

function isKnown(keys: readonly KeyRecord[], owner: string): boolean {
	return keys.length === 0 || keyless.has(owner) || keys.some((key) => key.owner === owner && !isOver(key));
}

/** The tightest cap of each kind that the keys of an owner have, else what holds for everybody. */
function findCaps(keys: readonly KeyRecord[], owner: string, everybody: Limit): Limit {
	const cap = (unit: keyof Limit) => {
		const caps = keys.flatMap((key) => (key.owner === owner && !isOver(key) ? (key.budget?.[unit] ?? []) : []));
		return caps.length === 0 ? everybody[unit] : Math.min(...caps);
	};
	return { tokens: cap('tokens'), usd: cap('usd') };
}

function isOrigin(text: string): boolean {
	return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text;
}

function readEndpoint(env: Env, name: EndpointName): Endpoint {
	const [key, base] = [`${name}_API_KEY`, `${name}_BASE_URL`] as const;
	return {
		apiKey: check(v.object({ [key]: text }), env, key, 'not_configured')[key],
		baseURL: check(v.object({ [base]: url }), env, base, 'not_configured')[base],
	};
}

function githubIn(env: Env): Config['github'] {
	const { GITHUB_TOKEN: token } = check(v.object({ GITHUB_TOKEN: text }), env, 'GITHUB_TOKEN', 'not_configured');
	const { GITHUB_API_URL: base } = check(v.object({ GITHUB_API_URL: url }), env, 'GITHUB_API_URL', 'not_configured');
	return { token, baseURL: (base ?? 'https://api.github.com').replace(/\/$/, '') };
}

/** The variable of each source's secrets. */
const secretNames = {
	standard: 'STANDARD_WEBHOOK_SECRET',
	github: 'GITHUB_WEBHOOK_SECRET',
	stripe: 'STRIPE_WEBHOOK_SECRET',
	slack: 'SLACK_WEBHOOK_SECRET',
	hmac: 'HMAC_WEBHOOK_SECRET',
} as const satisfies Record<SourceName, keyof WebhookVariables>;

function readSecrets(env: Env, name: string): readonly string[] {
	const all = check(v.object({ [name]: text }), env, name, 'not_configured')[name] ?? '';
	return all.split(/[\s,]+/).filter((secret) => secret !== '');
}

function assertGiven(secrets: readonly string[], name: string): readonly string[] {
	if (secrets.length > 0) return secrets;
	const how = `npx wrangler secret put ${name}, or on your machine a line in .dev.vars`;
	throw new RunletError('not_configured', `${name}: not set. Set it: ${how}.`);
}

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
