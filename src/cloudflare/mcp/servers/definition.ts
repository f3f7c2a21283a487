import type * as v from 'valibot';
import { check } from '../../../core/base/check.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../core/base/public-fetch.ts';
import { findClientSecret } from '../../agent/mcp-servers.ts';
import type { Secrets } from '../../agent/registered-secrets.ts';
import { assertNoSecret } from '../../agent/user-tools/definition.ts';
import { assertHeaders, assertUrlReferences, listSecretNames } from '../../agent/user-tools/headers.ts';
import type { Entry } from '../../objects/directory/registry.ts';
import { longestServerName, type serverBody, serverName, storedServer } from '../../wire/mcp.ts';

/** A server as its owner gives it. */
export type ServerBody = v.InferOutput<typeof serverBody>;

/** A server as it is stored. */
export type StoredServer = v.InferOutput<typeof storedServer>;

/** The most characters of a definition as JSON, without its secrets. */
const longest = 20_000;

/** Throws `invalid_request` for a name that a server cannot have. */
export function assertServerName(name: string): void {
	if (serverName.test(name) && name.length <= longestServerName) return;
	const message = `name: expected a-z, 0-9 and single hyphens, ${longestServerName} at most.`;
	throw new RunletError('invalid_request', message, { field: 'name' });
}

/**
 * Checks a server that an owner registers, and returns what is stored of it. It may not be on this machine, not even
 * under `npm start`. Throws `invalid_request`, which names the field and the remedy and shows no secret.
 *
 * @param secrets all of its secrets, those that it had before too
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

/** Lists the secrets that a new definition keeps, as `listKeptSecrets` of a tool does. */
export function listKeptServerSecrets(before: StoredServer, body: ServerBody): readonly string[] {
	if (before.url !== body.url) return [];
	const used = new Set([...listSecretNames({ ...body.headers, url: body.url }), findClientSecret(body)]);
	return before.secretNames.filter((name) => used.has(name) && !Object.hasOwn(body.secrets ?? {}, name));
}

/** Reads what is stored of a server. */
export function readStoredServer({ definition }: Pick<Entry, 'definition'>): StoredServer {
	return check(storedServer, JSON.parse(definition), 'definition', 'internal');
}

function createRefusal(field: string, what: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${what}.`, { field });
}
