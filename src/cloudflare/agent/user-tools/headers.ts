import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { anonymousHeaders } from '../../../core/base/public-fetch.ts';

const mostHeaders = 30;

/** Headers that belong to the connection, or to the caller's identity. */
const reserved =
	/^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|expect|date|forwarded|via|x-real-ip|(proxy|sec|cf|x-forwarded)-.*)$/;

const reference = /\$\{([^}]*)\}/g;

export function listSecretNames(headers: Readonly<Record<string, string>>): ReadonlySet<string> {
	return new Set(
		Object.values(headers).flatMap((value) => [...value.matchAll(reference)].map(([, name = '']) => name)),
	);
}

/** Fills a URL. A secret's value is encoded, so it stays within one part of the path or query. */
export function fillUrl(url: string, secrets: Readonly<Record<string, string>>): string {
	return url.replace(reference, (_, secret: string) => encodeURIComponent(secrets[secret] ?? ''));
}

/** Returns the origin of a URL that contains names of secrets. */
export function toOrigin(url: string): string {
	const filled = url.replace(reference, 'x');
	return URL.canParse(filled) ? new URL(filled).origin : '';
}

/** Throws `invalid_request` for a secret in the origin of a URL, and for an unknown secret. */
export function assertUrlReferences(url: string, secretNames: readonly string[]): void {
	if (url.replace(reference, '').includes('${')) throw createRefusal('url', `\${ is not closed. Write \${NAME}`);
	const [origin = ''] = /^[^/]*\/\/[^/?#]*/.exec(url) ?? [];
	if (origin.includes('${')) throw createRefusal('url', 'a secret may stand in the path and the query only');
	for (const [, secret = ''] of url.matchAll(reference))
		if (!secretNames.includes(secret))
			throw createRefusal('url', `\${${secret.slice(0, 64)}} is no secret of this server. Give it in secrets`);
}

/** Throws `invalid_request` for forbidden headers, and for an unknown secret. */
export function assertHeaders(headers: Readonly<Record<string, string>>, secretNames: readonly string[]): void {
	const names = Object.keys(headers);
	if (names.length > mostHeaders) throw createRefusal('headers', `${names.length}, and ${mostHeaders} is the most`);
	const seen = new Set<string>();
	for (const [header, value] of Object.entries(headers)) {
		const field = `headers.${header.slice(0, 100)}`;
		const name = header.toLowerCase();
		if (!/^[!#$%&'*+.^_`|~\w-]{1,100}$/.test(header)) throw createRefusal('headers', 'a name is no name of a header');
		if (reserved.test(name)) throw createRefusal(field, 'this header is set by the connection. Take it out');
		if (seen.has(name)) throw createRefusal(field, 'given twice. Give it once');
		seen.add(name);
		if (!/^[\x20-\x7e]{0,2000}$/.test(value))
			throw createRefusal(field, 'expected at most 2,000 visible ASCII characters and spaces');
		assertReferences(field, name, value, secretNames);
	}
}

function assertReferences(field: string, name: string, value: string, secretNames: readonly string[]): void {
	if (value.replace(reference, '').includes('${')) throw createRefusal(field, `\${ is not closed. Write \${NAME}`);
	for (const [, secret = ''] of value.matchAll(reference)) {
		if (!secretNames.includes(secret))
			throw createRefusal(
				field,
				`\${${secret.slice(0, 64)}} is no secret of this tool. Give it in secrets; a tool whose URL changes needs all of them again`,
			);
		if (anonymousHeaders.has(name))
			throw createRefusal(field, 'this header follows a redirect to another host. Put the secret into another one');
	}
}

export function fillHeaders(
	headers: Readonly<Record<string, string>>,
	secrets: Readonly<Record<string, string>>,
): Record<string, string> {
	return Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [
			name,
			value.replace(reference, (_, secret: string) => secrets[secret] ?? ''),
		]),
	);
}

export function createRefusal(field: string, what: string): RunletError {
	return createFieldError('invalid_request', field, `${what}.`);
}
