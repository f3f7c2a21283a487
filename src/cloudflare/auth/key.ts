import * as v from 'valibot';
import { toBase64Url } from '../../core/base/bytes.ts';
import { RunletError } from '../../core/base/errors.ts';
import { type Role, roles, userName } from './rights.ts';

/** `run`: run agents. `admin`: change what all owners share, such as skills. `keys`: make and revoke keys. */
export const scopes = ['run', 'admin', 'keys'] as const;
export type Scope = (typeof scopes)[number];

/** An API key. The Worker stores only its hash (docs/keys.md). */
export interface KeyRecord {
	/** The public part of the key. */
	readonly id: string;
	/** A name for people to read. */
	readonly name?: string;
	/** Keys of one owner open the same sessions. */
	readonly owner: string;
	/** The person who holds the key. All keys of an owner that have no user count as one person. */
	readonly user?: string;
	/** The role in the owner: `admin` by default. */
	readonly role?: Role;
	/** SHA-256 of the key's text, as base64url. */
	readonly hash: string;
	readonly scopes: readonly Scope[];
	/** The most that the key's owner can spend on a UTC day. */
	readonly budget?: { readonly tokens?: number; readonly usd?: number } | undefined;
	/** Requests in 10 seconds. The limit of `wrangler.toml` by default. */
	readonly rate?: number | undefined;
	/** ISO 8601. */
	readonly createdAt?: string;
	/** The time when a replaced key expires, in ISO 8601. */
	readonly expiresAt?: string;
}

/** Whether a key has expired. `now` is in milliseconds since 1970. */
export function isOver({ expiresAt }: Pick<KeyRecord, 'expiresAt'>, now = Date.now()): boolean {
	return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

const idForm = /^[a-z0-9]{8,32}$/;
const keyForm = /^rl_([a-z0-9]{8,32})_[\w-]{43}$/;
const aboveZero = v.pipe(v.number(), v.gtValue(0), v.finite());

/** The fields of a new key. */
export const keyFields = {
	name: v.optional(v.pipe(v.string(), v.maxLength(64), v.description('For people.'))),
	owner: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'expected a–z, 0–9 and hyphens'),
			v.description('Whose sessions it opens. An owner of its own if it is missing.'),
		),
	),
	user: v.optional(v.pipe(userName, v.description('The person who holds it. What they do by it counts as theirs.'))),
	role: v.optional(v.pipe(v.picklist(roles), v.description('What it may do in its owner. `admin` if it is missing.'))),
	scopes: v.optional(v.pipe(v.array(v.picklist(scopes)), v.nonEmpty()), () => ['run'] as const),
	budget: v.optional(
		v.pipe(
			v.strictObject({ tokens: v.optional(aboveZero), usd: v.optional(aboveZero) }),
			v.description('What its owner may spend on a UTC day.'),
		),
	),
	rate: v.optional(
		v.pipe(
			v.number(),
			v.integer(),
			v.minValue(1),
			v.maxValue(1_000_000),
			v.description(
				'The requests that it may make in 10 seconds, as each copy of the Worker counts them. The limit of `wrangler.toml` if it is missing.',
			),
		),
	),
};

const storedKey = v.strictObject({
	...keyFields,
	id: v.pipe(v.string(), v.regex(idForm, 'expected 8 to 32 of a–z and 0–9')),
	hash: v.pipe(v.string(), v.regex(/^[\w-]{43}$/, 'expected a SHA-256 as base64url, 43 characters')),
	createdAt: v.optional(v.string()),
	expiresAt: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});
const recordSchema = v.pipe(
	storedKey,
	v.transform((record): KeyRecord => ({ ...record, owner: record.owner ?? record.id })),
);
const fields = new Set([...Object.keys(storedKey.entries), 'tokens', 'usd']);

/** Parses what `npm run keys` writes. Throws `not_configured`, which names the variable and never shows its content. */
export function parseKeys(text: string): readonly KeyRecord[] {
	let json: unknown;
	try {
		json = JSON.parse(text);
	} catch {
		throw new RunletError('not_configured', `API_KEYS: not valid JSON. ${remedy}`);
	}
	const parsed = v.safeParse(v.array(recordSchema), json, { abortEarly: true });
	if (!parsed.success)
		throw new RunletError('not_configured', `API_KEYS: ${describePlace(parsed.issues[0])} is not valid. ${remedy}`);
	const records = parsed.output;
	const ids = records.map(({ id }) => id);
	const twice = ids.find((id, index) => ids.indexOf(id) !== index);
	if (twice !== undefined)
		throw new RunletError('not_configured', `API_KEYS: two keys have the id ${twice}. Revoke one with npm run keys.`);
	return records;
}

/** Returns undefined for text that is not a stored key. */
export function parseStoredKey(text: string): KeyRecord | undefined {
	const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), recordSchema), text);
	return parsed.success ? parsed.output : undefined;
}

const remedy = 'Set it again with npm run keys.';

/** Describes the wrong place only by the names of known fields, because any other text could be a key. */
function describePlace({ path }: v.BaseIssue<unknown>): string {
	const known = (path ?? []).map(({ key }) => key).filter((key) => typeof key === 'number' || fields.has(String(key)));
	return known.length === 0 ? 'the list' : known.join('.');
}

/** Makes `rl_<id>_<32 random bytes>`. The key is shown once and stored nowhere. */
export function makeKey(): { readonly key: string; readonly id: string } {
	const id = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => (byte % 36).toString(36)).join('');
	return { key: `rl_${id}_${toBase64Url(crypto.getRandomValues(new Uint8Array(32)))}`, id };
}

export interface NewKey {
	/** Shown once and stored nowhere. */
	readonly key: string;
	readonly record: KeyRecord;
}

export type KeyOptions = Partial<Pick<KeyRecord, 'name' | 'owner' | 'user' | 'role' | 'scopes' | 'budget' | 'rate'>>;

/** Creates a key. Without an owner the key gets a new owner. Throws `not_configured` for a wrong field. */
export async function createKey(options: KeyOptions = {}): Promise<NewKey> {
	const { name, owner, user, role, scopes = ['run'], budget, rate } = options;
	const { key, id } = makeKey();
	const hash = await hashKey(key);
	const createdAt = new Date().toISOString();
	const who = { owner: owner ?? id, ...(user && { user }), ...(role && { role }) };
	const caps = { ...(budget && { budget }), ...(rate !== undefined && { rate }) };
	const record = { id, ...(name && { name }), ...who, hash, scopes, ...caps, createdAt };
	const [checked = record] = parseKeys(JSON.stringify([record]));
	return { key, record: checked };
}

export function formatKeys(records: readonly KeyRecord[]): string {
	return JSON.stringify(
		records.map(({ id, owner, user, role, hash, scopes, budget, rate, expiresAt }) => ({
			id,
			...(owner !== id && { owner }),
			...(user && { user }),
			...(role && { role }),
			hash,
			...(scopes.join() !== 'run' && { scopes }),
			...(budget && { budget }),
			...(rate !== undefined && { rate }),
			...(expiresAt && { expiresAt }),
		})),
	);
}

/** SHA-256. */
export async function digestKey(key: string): Promise<Uint8Array<ArrayBuffer>> {
	return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)));
}

export async function hashKey(key: string): Promise<string> {
	return toBase64Url(await digestKey(key));
}

/** Returns undefined for text without the form of a key. */
export function readKeyId(text: string): string | undefined {
	return keyForm.exec(text)?.[1];
}
