import * as v from 'valibot';
import { check, explain } from '../../core/base/check.ts';
import { RunletError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import { isLoopback } from '../../core/base/public-fetch.ts';
import { baseURL } from '../../core/providers/adapter/settings.ts';
import { modelPrices } from '../../core/providers/prices/own.ts';
import { usualQuota } from '../../core/workspace/plan.ts';
import { parseKeys } from '../auth/key.ts';
import { createSecretsBox, parseSecretsKey, type SecretsBox } from '../auth/secrets-box.ts';
import type { Limit } from '../objects/budget.ts';
import type { EndpointName, FileBucket, WorkerEnv } from './env.ts';
import { jurisdiction, locationHint, placement } from './placement.ts';

const none = 'none';

const numberText = (message: string) =>
	v.pipe(
		v.union([v.string(), v.number()], message),
		v.transform((value) => String(value).trim()),
	);
const list = v.pipe(v.string('must be a text'), v.transform(splitList));

/** A cap, or `none`. An empty text is refused, because it could remove the cap by mistake. */
const budget = (form: RegExp, message: string) =>
	v.optional(
		v.pipe(
			numberText(message),
			v.check((value) => value === none || form.test(value), message),
			v.transform((value) => (value === none ? none : Number(value))),
			v.check((value) => value === none || (value > 0 && value <= Number.MAX_SAFE_INTEGER), message),
		),
	);
const quota = (byDefault: number) => {
	const message = `must be a whole number above 0, such as ${byDefault}. Set it under [vars] in wrangler.toml`;
	return v.optional(v.pipe(numberText(message), v.regex(/^[1-9]\d{0,14}$/, message), v.transform(Number)), byDefault);
};
const gibibyte = 1_073_741_824;
const bytes = (byDefault: number) => {
	const message = `must be a whole number of bytes above 0, such as ${byDefault}. Set it under [vars] in wrangler.toml, or to none for no limit`;
	return v.optional(
		v.pipe(
			numberText(message),
			v.check((value) => value === none || /^[1-9]\d{0,14}$/.test(value), message),
			v.transform((value) => (value === none ? undefined : Number(value))),
		),
		byDefault,
	);
};
const noBudget = 'Set it under [vars] in wrangler.toml, or to none for no limit';
const tokenBudget = budget(/^\d{1,16}$/, `must be a whole number above 0, such as 2000000. ${noBudget}`);
const dollarBudget = budget(/^\d{1,16}(\.\d{1,16})?$/, `must be a number above 0, such as 2.50. ${noBudget}`);

const makesSecretsKey = `node -p "crypto.randomBytes(32).toString('base64')"`;

const pricesExample = 'Prices are in US dollars for a million tokens: {"groq/*":{"input":0.6,"output":0.8}}';

function explainPrices(prices: unknown): string {
	const { issues = [] } = v.safeParse(modelPrices, prices, { abortEarly: true });
	return `${explain(issues, 'prices').message}. ${pricesExample}`;
}

const place = <S extends v.GenericSchema<string>>(known: S) =>
	v.optional(
		v.pipe(
			v.string(),
			v.trim(),
			v.transform((text) => text || undefined),
			v.optional(known),
		),
	);

const onOrOff = v.optional(
	v.pipe(
		v.picklist(['on', 'off'], 'must be on or off'),
		v.transform((mode) => mode === 'on'),
	),
	'off',
);

const placesForm = 'must name owners with their places, such as {"acme":{"jurisdiction":"eu","locationHint":"weur"}}';

export const variables = v.object({
	MODEL: v.optional(
		v.pipe(v.string(), v.trim(), v.nonEmpty('must not be empty. Set it under [vars] in wrangler.toml')),
		'demo',
	),
	DAY_BUDGET_TOKENS: tokenBudget,
	DAY_BUDGET_USD: dollarBudget,
	SESSION_BUDGET_TOKENS: tokenBudget,
	SESSION_BUDGET_USD: dollarBudget,
	WORKSPACE_FILES: quota(usualQuota.files),
	WORKSPACE_BYTES: quota(usualQuota.bytes),
	SESSION_BYTES: bytes(gibibyte),
	OWNER_BYTES: bytes(100 * gibibyte),
	USER_BYTES: bytes(10 * gibibyte),
	API_KEYS: v.optional(
		v.pipe(
			v.string(),
			v.trim(),
			v.transform((text) => (text === '' ? [] : parseKeys(text))),
		),
		'',
	),
	STORED_KEYS: onOrOff,
	PRICES: v.optional(
		v.pipe(
			v.string('must be a text'),
			v.trim(),
			v.transform((text) => parseJson(text || '{}')),
			v.check(isRecord, `must be a JSON object. ${pricesExample}`),
			v.check(
				(prices) => !isRecord(prices) || v.is(modelPrices, prices),
				({ input }) => explainPrices(input),
			),
			modelPrices,
		),
		'',
	),
	CHAT_MODELS: v.optional(list, ''),
	JURISDICTION: place(jurisdiction),
	LOCATION_HINT: place(locationHint),
	OWNER_PLACES: v.optional(
		v.pipe(
			v.string(),
			v.transform((text) => parseJson(text.trim() || '{}')),
			v.record(v.string(), placement, placesForm),
			v.transform((places) => new Map(Object.entries(places))),
		),
		'',
	),
	LARGE_OWNERS: v.optional(list, ''),
	LIST_ALL_OWNERS: onOrOff,
	CORS_ORIGINS: v.optional(
		v.pipe(
			list,
			v.check((origins) => origins.every(isOrigin), 'expected origins such as https://app.example.com, with commas'),
		),
		'',
	),
	SECRETS_KEY: v.optional(
		v.pipe(
			list,
			v.check(
				(keys) => keys.every((key) => parseSecretsKey(key) !== undefined),
				() => `must be 32 random bytes as base64, or several of them with spaces. Make one: ${makesSecretsKey}`,
			),
			v.transform((keys) => keys.flatMap((key) => parseSecretsKey(key) ?? [])),
		),
		'',
	),
	PUBLIC_URL: v.optional(
		v.pipe(
			v.string(),
			v.trim(),
			v.check(
				(text) => text === '' || isPublicBase(text),
				'must be the https address of this Worker, such as https://agents.example.com, without / at its end',
			),
			v.transform((text) => text || undefined),
		),
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

export function splitList(text: string): string[] {
	return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Throws `not_configured`. */
function readVariable<S extends v.GenericSchema>(env: object, name: string, schema: S) {
	return check(v.object({ [name]: schema }), env, name, 'not_configured')[name];
}

/** An empty variable counts as not set, because a `.dev.vars` can have lines whose keys are not filled in yet. */
const optionalText = v.optional(
	v.pipe(
		v.string(),
		v.trim(),
		v.transform((value) => value || undefined),
	),
);
const url = v.pipe(
	optionalText,
	v.check((value) => value === undefined || URL.canParse(value), 'must be a URL, such as https://gateway.example.com'),
);

export function readOptional(env: object, name: string): string | undefined {
	return readVariable(env, name, optionalText);
}

/** Makes a limit from two caps. Returns `byDefault` if neither cap is set. */
export function toLimit(
	tokens: number | typeof none | undefined,
	usd: number | typeof none | undefined,
	byDefault: Limit,
): Limit {
	if (tokens === undefined && usd === undefined) return byDefault;
	return { tokens: tokens === none ? undefined : tokens, usd: usd === none ? undefined : usd };
}

export interface Endpoint {
	readonly apiKey: string | undefined;
	readonly baseURL: string | undefined;
}

/** Whether a text can be a Worker's public address: https, or http on this machine. Its path is the base path. */
function isPublicBase(text: string): boolean {
	if (!URL.canParse(text) || /[?#]|\/$/.test(text)) return false;
	const parsed = new URL(text);
	return parsed.username === '' && (parsed.protocol === 'https:' || isLoopback(parsed));
}

function isOrigin(text: string): boolean {
	return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text;
}

export function readEndpoint(env: object, name: EndpointName): Endpoint {
	return {
		apiKey: readOptional(env, `${name}_API_KEY`),
		baseURL: readVariable(env, `${name}_BASE_URL`, v.pipe(optionalText, v.optional(baseURL))),
	};
}

export function readGithub(env: WorkerEnv): { readonly token: string | undefined; readonly baseURL: string } {
	const base = readVariable(env, 'GITHUB_API_URL', url) ?? 'https://api.github.com';
	return { token: readOptional(env, 'GITHUB_TOKEN'), baseURL: base.replace(/\/$/, '') };
}

/** Throws `not_configured` if a URL is set without the secret that signs the alerts. */
export function readSpendingCallback(env: WorkerEnv, secrets: readonly string[]): string | undefined {
	const found = readVariable(env, 'SPENDING_CALLBACK', url);
	if (found !== undefined) assertSet(secrets, 'CALLBACK_SECRET');
	return found;
}

const days = 'must be a whole number of days above 0, such as 90. Set it under [vars] in wrangler.toml';
const archiveDays = v.optional(v.pipe(numberText(days), v.regex(/^[1-9]\d{0,4}$/, days), v.transform(Number)));
const dayMs = 86_400_000;

/**
 * Returns after how many milliseconds without use a session is archived. Throws `not_configured` if that is set without
 * a bucket.
 */
export function readArchiveAfter(env: WorkerEnv, bucket: FileBucket | undefined): number | undefined {
	const found = readVariable(env, 'ARCHIVE_AFTER_DAYS', archiveDays);
	if (found !== undefined && bucket === undefined) {
		const message = 'ARCHIVE_AFTER_DAYS: set, but no bucket is bound as FILES. Bind one, or remove the variable.';
		throw new RunletError('not_configured', message);
	}
	return found && found * dayMs;
}

/** Splits at spaces and commas. */
export function readSecrets(env: WorkerEnv, name: string): readonly string[] {
	return splitList(readOptional(env, name) ?? '');
}

/** Throws `not_configured`, which describes how to make a key, if `SECRETS_KEY` is not set. */
export function createBox(keys: v.InferOutput<typeof variables>['SECRETS_KEY']): () => SecretsBox {
	const [newest, ...older] = keys;
	const box = newest && createSecretsBox([newest, ...older]);
	return () => {
		if (box !== undefined) return box;
		const how = `${makesSecretsKey} | npx wrangler secret put SECRETS_KEY, or on your machine a line in .dev.vars`;
		throw new RunletError(
			'not_configured',
			`SECRETS_KEY: not set, so no secret can be kept. Set it: ${how}. npm start makes one by itself.`,
		);
	};
}

/** Throws `not_configured`, which names the variable, if it is not set. */
export function readText(env: object, name: string): string {
	const value: unknown = Reflect.get(env, name);
	if (typeof value === 'string' && value.trim() !== '') return value.trim();
	const how = `npx wrangler secret put ${name}, or on your machine a line in .dev.vars`;
	throw new RunletError(
		'not_configured',
		`${name}: not set, and an MCP server or a tool of an agent needs it. Set it: ${how}.`,
	);
}

export function assertPublicBase(url: string | undefined): string {
	if (url !== undefined) return url;
	throw new RunletError(
		'not_configured',
		'PUBLIC_URL: not set, so no login comes back to this Worker, and no link leads to it. Set it to its address, such as https://agents.example.com, under [vars] in wrangler.toml. npm start does it by itself.',
	);
}

export function assertSet(secrets: readonly string[], name: string): readonly string[] {
	if (secrets.length > 0) return secrets;
	const how = `npx wrangler secret put ${name}, or on your machine a line in .dev.vars`;
	throw new RunletError('not_configured', `${name}: not set. Set it: ${how}.`);
}
