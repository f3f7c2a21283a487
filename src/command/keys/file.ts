import { createHash } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import {
	formatKeys,
	type KeyOptions,
	type KeyRecord,
	createKey as makeNewKey,
	type NewKey,
	parseKeys,
} from '../../cloudflare/auth/key.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { root, toCommand } from '../project.ts';

/** The file with the keys of this folder. It holds only their hashes. Git ignores the file. */
export const defaultKeysFile = join(root, 'keys.json');

/** The state of a deployed Worker, according to the uploads from this folder. */
export interface Remote {
	/** A hash of the Worker's list. */
	readonly list?: string;
	readonly url?: string;
}

/** The keys, and each deployed Worker by the name of its Wrangler environment ('' for none). */
export interface Keys {
	readonly keys: readonly KeyRecord[];
	readonly remotes: Readonly<Record<string, Remote>>;
}

const text = v.optional(v.string());
const form = v.object({
	keys: v.optional(v.array(v.unknown()), []),
	remotes: v.optional(v.record(v.string(), v.object({ list: text, url: text })), {}),
});

/** Reads the keys of a file. Returns no keys if the file does not exist. Throws if the file cannot be read. */
export async function readKeys(file: string): Promise<Keys> {
	let written: string;
	try {
		written = await readFile(file, 'utf8');
	} catch (error) {
		if (isCode(error, 'ENOENT')) return { keys: [], remotes: {} };
		throw error;
	}
	try {
		const { keys, remotes } = v.parse(form, JSON.parse(written));
		return { keys: parseKeys(JSON.stringify(keys)), remotes };
	} catch (error) {
		throw new Error(`${file}: not a list of keys as ${toCommand('keys')} writes it. Mend it, or move it away.`, {
			cause: error,
		});
	}
}

/**
 * Changes the keys of a file atomically. Only the file's owner can read the file (mode 600). If two commands
 * change the file at the same time, the second command is refused, so no change is lost.
 */
export async function changeKeys(file: string, change: (keys: Keys) => Keys): Promise<Keys> {
	const next = `${file}.new`;
	const handle = await open(next, 'wx', 0o600).catch((error: unknown) => {
		if (!isCode(error, 'EEXIST')) throw error;
		throw new Error(`${next} is there: another command changes the keys. If none runs, delete it and try again.`);
	});
	try {
		const changed = change(await readKeys(file));
		await handle.writeFile(`${JSON.stringify(changed, null, '\t')}\n`);
		await handle.sync();
		await handle.close();
		await rename(next, file);
		return changed;
	} catch (error) {
		await handle.close().catch(() => {});
		await rm(next, { force: true });
		throw error;
	}
}

/** Creates a key and its record. Throws a `TypeError` for values that the Worker would refuse. */
export async function createKey(about: KeyOptions): Promise<NewKey> {
	try {
		return await makeNewKey(about);
	} catch (error) {
		const [, field = ''] = /\b0\.(\w+)/.exec(toMessageText(error)) ?? [];
		throw new TypeError(refusals[field] ?? toMessageText(error), { cause: error });
	}
}

/** Creates a second key with the same owner and scopes. The old key ends after the given days. */
export async function rotateKey(before: KeyRecord, days: number): Promise<NewKey & { readonly ends: KeyRecord }> {
	const { name, owner, user, role, scopes, budget, rate } = before;
	const made = await createKey({ name, owner, user, role, scopes, budget, rate });
	const at = new Date(Date.now() + days * 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');
	return { ...made, ends: { ...before, expiresAt: at } };
}

/** For each field, the error for a wrong value. */
const refusals: Readonly<Record<string, string>> = {
	user: '--user: expected 1 to 200 characters without control characters.',
	owner: '--owner: expected a–z, 0–9 and hyphens, 64 at most.',
	name: 'NAME: expected 64 characters at most.',
};

/** The byte limit of a secret: Cloudflare allows 5 KB (https://developers.cloudflare.com/workers/platform/limits/). */
const secretBytes = 5_000;

/** Returns the list for the Worker (`API_KEYS`), with only the needed fields. Throws if the list is too long. */
export function toSecret(keys: readonly KeyRecord[]): string {
	const secret = formatKeys(keys);
	const bytes = Buffer.byteLength(secret);
	if (bytes > secretBytes) {
		throw new Error(
			`${keys.length} keys take ${bytes} bytes, and a secret of Cloudflare holds ${secretBytes}: revoke some first (${toCommand('keys', 'list')}). With one key you can give each user a session token.`,
		);
	}
	return secret;
}

/** Returns a hash of a list, to remember which list a deployed Worker has. */
export function listHash(keys: readonly KeyRecord[]): string {
	return createHash('sha256').update(toSecret(keys)).digest('base64url');
}

function isCode(error: unknown, code: string): boolean {
	return error instanceof Error && Reflect.get(error, 'code') === code;
}
