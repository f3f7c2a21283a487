import type * as v from 'valibot';
import { check } from '../../../core/base/check.ts';
import { createFieldError } from '../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../core/base/public-fetch.ts';
import { findClientSecret } from '../../agent/mcp-servers.ts';
import type { Secrets } from '../../agent/registered-secrets.ts';
import { assertNoSecret } from '../../agent/user-tools/definition.ts';
import { assertHeaders, assertUrlReferences, createRefusal, listSecretNames } from '../../agent/user-tools/headers.ts';
import type { Entry } from '../../objects/directory/registry.ts';
import { longestServerName, type serverBody, serverName, storedServer } from '../../wire/mcp.ts';

export type ServerBody = v.InferOutput<typeof serverBody>;

export type StoredServer = v.InferOutput<typeof storedServer>;

/** The maximum length of a definition as JSON, without its secrets. */
const longest = 20_000;

export function assertServerName(name: string): void {
	if (serverName.test(name) && name.length <= longestServerName) return;
	const message = `expected a-z, 0-9 and single hyphens, ${longestServerName} at most.`;
	throw createFieldError('invalid_request', 'name', message);
}

/**
 * Checks a server of an owner, and returns the definition to store. The server must not be on this machine, not even
 * under `npm start`. `secrets` has the new secrets and the kept ones. Throws `invalid_request`, which names the field
 * and the remedy, and shows no secret.
 */
export function toStoredServer({ secrets: given = {}, ...body }: ServerBody, secrets: Secrets): StoredServer {
	const length = JSON.stringify(body).length;
	if (length > longest)
		throw createRefusal('body', `the definition has ${length} characters, and ${longest} is the most. Shorten it`);
	assertPublicUrl(body.url);
	if (body.url.includes('#')) throw createRefusal('url', 'it has a fragment, which is never sent. Take it out');
	const names = Object.keys(secrets);
	assertUrlReferences(body.url, names);
	assertHeaders(body.headers, names);
	const secret = findClientSecret(body);
	if (secret !== undefined && !names.includes(secret))
		throw createRefusal('auth.clientSecret', `\${${secret}} is no secret of this server. Give it in secrets`);
	assertNoSecret(body, { ...secrets, ...given });
	return { ...body, secretNames: names };
}

/** Lists the secrets that a change of a server keeps, as `listKeptSecrets` does for a tool. */
export function listKeptServerSecrets(before: StoredServer, body: ServerBody): readonly string[] {
	if (before.url !== body.url) return [];
	const used = new Set([...listSecretNames({ ...body.headers, url: body.url }), findClientSecret(body)]);
	return before.secretNames.filter((name) => used.has(name) && !Object.hasOwn(body.secrets ?? {}, name));
}

export function readStoredServer({ definition }: Pick<Entry, 'definition'>): StoredServer {
	return check(storedServer, JSON.parse(definition), 'definition', 'internal');
}
