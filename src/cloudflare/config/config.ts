import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import type { Env } from '../../core/base/env.ts';
import { toMessageText } from '../../core/base/errors.ts';
import type { NamedSecret } from '../../core/base/secrets.ts';
import type { ModelPrices } from '../../core/chat/index.ts';
import type { AiBinding } from '../../core/providers/index.ts';
import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import type { WebAccess } from '../../core/tool/index.ts';
import type { Quota } from '../../core/workspace/index.ts';
import { accountKeyId, localIdentity, scheduleOwner, webhookOwner } from '../auth/identity.ts';
import { isOver, type KeyRecord } from '../auth/key.ts';
import type { LocalMode } from '../auth/local.ts';
import type { SecretsBox } from '../auth/secrets-box.ts';
import { FullRooms, type Limit, type RoomLimits } from '../objects/budget.ts';
import { type DirectoryNamespace, everybody } from '../objects/directory/api.ts';
import { StoredKeys } from '../objects/directory/stored-keys.ts';
import type { LedgerNamespace } from '../objects/ledger/api.ts';
import { Shortages } from '../objects/ledger/shortages.ts';
import { findHolderOwner, type MemoryNamespace } from '../objects/memory/api.ts';
import type { PublisherNamespace } from '../objects/publisher/api.ts';
import { countShards, type FindShardCount, findOwnerOfShard } from '../objects/shards.ts';
import { defaultBudgets } from '../wire/budget.ts';
import type { Problem } from '../wire/error.ts';
import { maxFile } from '../wire/limits.ts';
import { type SourceName, sourceNames } from '../wire/protocols/webhooks/source.ts';
import {
	type BindingName,
	type BindingNames,
	bindingNames,
	createLimitedKv,
	findBinding,
	readBinding,
} from './bindings.ts';
import {
	type EndpointName,
	endpointNames,
	type FileBucket,
	type MetricsDataset,
	type PageFiles,
	type RateLimiter,
	toSecretName,
	type WorkerEnv,
} from './env.ts';
import { findOrigin } from './environment.ts';
import {
	createPlaces,
	type NamedObjects,
	type PlacedSessions,
	type Places,
	placeObjects,
	placeSessions,
} from './placement.ts';
import { readSearch } from './search.ts';
import { listSecrets } from './secrets.ts';
import {
	assertPublicBase,
	assertSet,
	createBox,
	type Endpoint,
	readArchiveAfter,
	readEndpoint,
	readGithub,
	readSecrets,
	readSpendingCallback,
	readText,
	toLimit,
	variables,
} from './variables.ts';

export interface Config extends PlacedSessions, Places {
	/** The environment with the project's own names. */
	readonly env: Env;
	readonly ledgers: LedgerNamespace;
	readonly directories: DirectoryNamespace;
	readonly findShardCount: FindShardCount;
	/**
	 * The directories that together list the sessions of all owners: `everybody`, and the owners of other jurisdictions,
	 * whose sessions `everybody` does not list. Missing unless `LIST_ALL_OWNERS` is on.
	 */
	readonly listsOfAll: readonly string[] | undefined;
	readonly skills: SkillsNamespace;
	readonly publishers: PublisherNamespace;
	readonly memories: MemoryNamespace;
	/**
	 * The most that an owner can spend on a UTC day: the smallest cap of its keys, or `dayBudget` if no key has a cap.
	 * Zero if all keys of the owner are revoked, unless owners can be accounts. Call `storedKeys.refreshOwner` first.
	 */
	readonly findDayBudget: (owner: string) => Limit;
	/** The owner of agents' schedules that name no owner. Missing if the Worker has no keys, accounts or local mode. */
	readonly scheduleOwner: string | undefined;
	/** The budget of a session if neither the session nor its agent has a budget. */
	readonly sessionBudget: Limit;
	/** The budget of an owner whose keys have no cap. */
	readonly dayBudget: Limit;
	readonly shortages: Shortages;
	/** Whether a key is neither revoked nor expired. Call `storedKeys.refreshKey` first. */
	readonly knowsKey: (id: string) => boolean;
	readonly model: string;
	/** The keys of the secret `API_KEYS`. Without keys, the Worker answers only this machine. */
	readonly keys: readonly KeyRecord[];
	/** The keys that are stored in Durable Objects. Missing unless `STORED_KEYS` is on. */
	readonly storedKeys: StoredKeys | undefined;
	readonly corsOrigins: readonly string[];
	readonly rateLimiter: RateLimiter | undefined;
	readonly local: LocalMode | undefined;
	readonly metrics: MetricsDataset | undefined;
	readonly findEndpoint: (name: EndpointName) => Endpoint;
	/** The bucket of files above 1 MB. Without it, the sessions' objects hold all files, each of 4 MB at most. */
	readonly files: FileBucket | undefined;
	/** After how many milliseconds without use a session is archived. Missing if none is. */
	readonly archiveAfterMs: number | undefined;
	readonly workspaceQuota: Quota;
	/** Prices that override the built-in price lists. */
	readonly prices: ModelPrices;
	/** The models of `CHAT_BASE_URL`. */
	readonly chatModels: readonly string[];
	/** How many bytes a session, an owner and a user can store. */
	readonly roomLimits: RoomLimits;
	readonly fullRooms: FullRooms;
	readonly ai: AiBinding | undefined;
	readonly page: PageFiles | undefined;
	readonly loader: WorkerLoader | undefined;
	/** Returns at least one secret, or throws `not_configured`. An agent with its own secrets uses only these. */
	readonly findWebhookSecrets: (source: SourceName, agent: string) => readonly string[];
	/** Returns at least one secret, or throws `not_configured`. */
	readonly findCallbackSecrets: () => readonly string[];
	/** The URL of alerts about spending. It needs a callback secret. */
	readonly spendingCallback: string | undefined;
	/** Seals the secrets of owners. Throws `not_configured` without `SECRETS_KEY`. */
	readonly findSecretsBox: () => SecretsBox;
	/** The secrets among Runlet's own variables. */
	readonly secrets: readonly NamedSecret[];
	/** Reads a variable of an agent. Throws `not_configured` if it is not set. */
	readonly readText: (name: string) => string;
	readonly publicUrl: string | undefined;
	readonly findPublicUrl: () => string;
	/** The limits of tools that read the web. */
	readonly web: WebAccess;
	readonly github: { readonly token: string | undefined; readonly baseURL: string };
}

/** The maximum number of bytes in a file, if there is no bucket. */
const mostInObject = 4_194_304;

const known = new WeakMap<WorkerEnv, Config>();

/** The only reader of `env`. Throws `not_configured`, which names the variable or binding and where to set it. */
export function readConfig(env: WorkerEnv): Config {
	const cached = known.get(env);
	if (cached !== undefined) return cached;
	const {
		API_KEYS: keys,
		STORED_KEYS: storesKeys,
		CORS_ORIGINS: corsOrigins,
		LOCAL: local,
		SECRETS_KEY: secretsKeys,
		PUBLIC_URL: publicUrl,
		WORKSPACE_FILES: mostFiles,
		WORKSPACE_BYTES: mostBytes,
		...caps
	} = check(variables, env, 'env', 'not_configured');
	const { original, bindings = {}, hasAccounts = false, hasOwnSkills = false } = findOrigin(env);
	const roomLimits = { session: caps.SESSION_BYTES, owner: caps.OWNER_BYTES, user: caps.USER_BYTES };
	for (const name of listRequired(hasOwnSkills)) readBinding(env, name, bindings);
	const { place, objects } = placeBindings(env, bindings);
	const skills = findSkills(env, bindings);
	const dayBudget = toLimit(caps.DAY_BUDGET_TOKENS, caps.DAY_BUDGET_USD, defaultBudgets.day);
	const sessionBudget = toLimit(caps.SESSION_BUDGET_TOKENS, caps.SESSION_BUDGET_USD, defaultBudgets.session);
	const files = findBinding(env, 'FILES', bindings);
	const endpoints = new Map(endpointNames.map((name) => [name, readEndpoint(env, name)]));
	const secrets = new Map(sourceNames.map((source) => [source, readSecrets(env, toSecretName(source))]));
	const findCallbackSecrets = readSecrets(env, 'CALLBACK_SECRET');
	const storedKeys = storesKeys ? findStoredKeys(env) : undefined;
	const read: Config = {
		env: original,
		...objects,
		findShardCount: countShards(caps.LARGE_OWNERS),
		listsOfAll: caps.LIST_ALL_OWNERS ? [everybody, ...objects.listOwnersElsewhere(everybody)] : undefined,
		get skills() {
			return skills ?? readBinding(env, 'SKILLS', bindings);
		},
		get publishers() {
			return place(readBinding(env, 'PUBLISHERS', bindings));
		},
		get memories() {
			return place(readBinding(env, 'MEMORIES', bindings), findHolderOwner);
		},
		knowsKey: (id) =>
			keys.length === 0 ||
			(hasAccounts && id === accountKeyId) ||
			isGood(keys.find((key) => key.id === id) ?? storedKeys?.find(id)),
		dayBudget,
		sessionBudget,
		findDayBudget: (owner) => {
			const ofOwner = listOwnerKeys({ keys, storedKeys }, owner);
			const isKnown = hasAccounts || keys.length === 0 || keyless.has(owner) || ofOwner.length > 0;
			return isKnown ? findCaps(ofOwner, dayBudget) : { tokens: 0 };
		},
		scheduleOwner: keys.length > 0 || hasAccounts ? scheduleOwner : local && localIdentity.by.owner,
		model: caps.MODEL,
		keys,
		storedKeys,
		corsOrigins,
		rateLimiter: findBinding(env, 'RATE_LIMITER', bindings),
		local,
		metrics: findBinding(env, 'METRICS', bindings),
		findEndpoint: (name) => endpoints.get(name) ?? { apiKey: undefined, baseURL: undefined },
		files,
		archiveAfterMs: readArchiveAfter(env, files),
		workspaceQuota: { files: mostFiles, bytes: mostBytes, fileBytes: files === undefined ? mostInObject : maxFile },
		prices: caps.PRICES,
		chatModels: caps.CHAT_MODELS,
		roomLimits,
		fullRooms: new FullRooms(roomLimits),
		shortages: new Shortages(),
		ai: findBinding(env, 'AI', bindings),
		page: findBinding(env, 'PAGE', bindings),
		loader: findBinding(env, 'LOADER', bindings),
		findWebhookSecrets: (source, agent) => {
			const own = `${toSecretName(source)}_${agent.toUpperCase().replaceAll('-', '_')}` as const;
			if (env[own] !== undefined) return assertSet(readSecrets(env, own), own);
			return assertSet(secrets.get(source) ?? [], toSecretName(source));
		},
		findCallbackSecrets: () => assertSet(findCallbackSecrets, 'CALLBACK_SECRET'),
		spendingCallback: readSpendingCallback(env, findCallbackSecrets),
		findSecretsBox: createBox(secretsKeys),
		secrets: listSecrets(env, keys),
		readText: (name) => readText(original, name),
		publicUrl,
		findPublicUrl: () => assertPublicBase(publicUrl),
		web: { allowLoopback: local !== undefined, search: readSearch(env) },
		github: readGithub(env),
	};
	known.set(env, read);
	return read;
}

/** Returns the namespaces of the objects that every Worker has, and what places the objects of further namespaces. */
function placeBindings(env: WorkerEnv, bindings: BindingNames) {
	const places = readPlaces(env);
	const place = <T>(namespace: NamedObjects<T>, toOwner = (name: string) => findOwnerOfShard(name) ?? name) =>
		placeObjects(namespace, (name) => places.findOwnerPlace(toOwner(name)));
	const objects = {
		...places,
		...placeSessions(readBinding(env, 'SESSIONS', bindings), places),
		ledgers: place(readBinding(env, 'LEDGERS', bindings)),
		directories: place(readBinding(env, 'DIRECTORIES', bindings)),
	};
	return { place, objects };
}

/** Reads only the variables of places. The runtime of a laptop has no jurisdictions, so they do nothing there. */
function readPlaces(env: WorkerEnv): Places {
	const names = v.pick(variables, ['JURISDICTION', 'LOCATION_HINT', 'OWNER_PLACES', 'LOCAL']);
	const read = check(names, env, 'env', 'not_configured');
	if (read.LOCAL !== undefined) return createPlaces({});
	const worker = { jurisdiction: read.JURISDICTION, locationHint: read.LOCATION_HINT };
	return createPlaces({ worker, owners: read.OWNER_PLACES, agents: findOrigin(env).agents });
}

function findSkills(env: WorkerEnv, bindings: BindingNames): SkillsNamespace | undefined {
	const kv = findBinding(env, 'SKILLS', bindings);
	return kv && createLimitedKv(kv);
}

/** Reads only the variables of keys, so it works even if another variable is wrong. Throws as `readConfig` does. */
export function readDoor(env: WorkerEnv): Pick<Config, 'keys' | 'storedKeys' | 'local'> {
	const cached = known.get(env);
	if (cached !== undefined) return cached;
	const door = v.pick(variables, ['API_KEYS', 'STORED_KEYS', 'LOCAL']);
	const { API_KEYS: keys, STORED_KEYS: storesKeys, LOCAL: local } = check(door, env, 'env', 'not_configured');
	return { keys, storedKeys: storesKeys ? findStoredKeys(env) : undefined, local };
}

const allStoredKeys = new WeakMap<WorkerEnv, StoredKeys>();

/** Returns the same object for the same environment, because the object remembers the keys that it read. */
function findStoredKeys(env: WorkerEnv): StoredKeys {
	const { bindings = {} } = findOrigin(env);
	const find = () =>
		placeObjects(readBinding(env, 'DIRECTORIES', bindings), (name) => readPlaces(env).findOwnerPlace(name));
	const found = allStoredKeys.get(env) ?? new StoredKeys(find);
	allStoredKeys.set(env, found);
	return found;
}

/** Returns all problems. `readConfig` throws only the first. */
export function findConfigProblems(env: WorkerEnv): readonly Problem[] {
	const { bindings = {}, hasOwnSkills = false } = findOrigin(env);
	const required = listRequired(hasOwnSkills);
	const checks = [
		...Object.entries(variables.entries).map(
			([name, schema]) =>
				() =>
					check(v.object({ [name]: schema }), env, name, 'not_configured'),
		),
		...bindingNames.map((name) => () => (required.includes(name) ? readBinding : findBinding)(env, name, bindings)),
		...endpointNames.map((name) => () => readEndpoint(env, name)),
		...[...sourceNames.map(toSecretName), 'CALLBACK_SECRET' as const].map((name) => () => readSecrets(env, name)),
		() => readArchiveAfter(env, findBinding(env, 'FILES', bindings)),
		() => readSpendingCallback(env, readSecrets(env, 'CALLBACK_SECRET')),
		() => readSearch(env),
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

function listRequired(hasOwnSkills: boolean): readonly BindingName[] {
	return ['SESSIONS', 'LEDGERS', 'DIRECTORIES', ...(hasOwnSkills ? [] : (['SKILLS', 'PUBLISHERS'] as const))];
}

/** Owners without a key: this machine, schedules, and senders of webhooks. */
const keyless: ReadonlySet<string> = new Set([localIdentity.by.owner, scheduleOwner, webhookOwner]);

function listOwnerKeys({ keys, storedKeys }: Pick<Config, 'keys' | 'storedKeys'>, owner: string): readonly KeyRecord[] {
	return [...keys.filter((key) => key.owner === owner), ...(storedKeys?.listOfOwner(owner) ?? [])].filter(isGood);
}

function isGood(key: KeyRecord | undefined): boolean {
	return key !== undefined && !isOver(key);
}

/** Returns the keys' smallest caps of tokens and of dollars. A missing cap is replaced by the cap for `everybody`. */
function findCaps(keys: readonly KeyRecord[], everybody: Limit): Limit {
	const cap = (unit: keyof Limit) => {
		const caps = keys.flatMap(({ budget }) => budget?.[unit] ?? []);
		return caps.length === 0 ? everybody[unit] : Math.min(...caps);
	};
	return { tokens: cap('tokens'), usd: cap('usd') };
}
