import { RunletError } from './errors.ts';

/** The options of `assertPublicUrl`. */
export interface PublicUrlOptions {
	/** Also allows this machine (`localhost`, `127.0.0.0/8`, `[::1]`), with http and any port. For the local mode. */
	readonly allowLoopback?: boolean;
	/** The field in error messages. The default is `url`. */
	readonly field?: string;
}

/**
 * Checks a URL that somebody else named: https, port 443, a name of the public internet, no user, no password. Checks
 * the host after parsing, so no spelling of an IP address passes (`127.1`, `0x7f.1`, `2130706433`,
 * `[::ffff:127.0.0.1]`). Fetch the returned URL, not the given text.
 *
 * Names are not resolved. The platform refuses names of private addresses (`global_fetch_strictly_public`). Throws
 * `invalid_request`, which names the field and does not repeat the URL.
 */
export function assertPublicUrl(
	url: string | URL,
	{ allowLoopback = false, field = 'url' }: PublicUrlOptions = {},
): URL {
	const createRefusal = (what: string) =>
		new RunletError('invalid_request', `${field}: ${what}. Give an https URL at a public name.`, { field });
	const text = String(url);
	// Parsers disagree about these characters. Another parser might see another host.
	if (/[\s\p{Cc}\\]/u.test(text)) throw createRefusal('holds spaces, control characters or backslashes');
	if (!URL.canParse(text)) throw createRefusal('not a URL');
	const parsed = new URL(text);
	const { protocol, hostname, port, username, password } = parsed;
	if (username !== '' || password !== '') throw createRefusal('holds a user or a password');
	if (allowLoopback && isLoopback(parsed)) return parsed;
	if (protocol !== 'https:') throw createRefusal('not https');
	if (isAddress(hostname)) throw createRefusal('an IP address, not a name');
	if (!isPublicName(hostname)) throw createRefusal('a name of a private network');
	if (port !== '') throw createRefusal('on a port other than 443');
	return parsed;
}

/** Whether `assertPublicUrl` accepts the URL. */
export function isPublicUrl(url: string): boolean {
	try {
		assertPublicUrl(url);
		return true;
	} catch {
		return false;
	}
}

/** Whether the URL is http or https to this machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
	return /^https?:$/.test(protocol) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Whether a parsed host is an IP address. The parser writes IPv6 in brackets and every IPv4 as four numbers. */
function isAddress(hostname: string): boolean {
	return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Top-level labels that are not in the public DNS: the special names of RFC 6761, 6762, 7686, 8375 and 9476, those that
 * ICANN reserves for private use, and those of routers and companies.
 */
const privateSuffixes =
	/(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|mail|test|invalid|onion|alt|arpa)$/;

/** Whether a parsed host can be a name in the public DNS: two or more labels, none empty. */
function isPublicName(hostname: string): boolean {
	const labels = hostname.split('.');
	const isTopLevel = /^([a-z]{2,}|xn--[a-z\d-]+)$/.test(labels.at(-1) ?? '');
	return labels.length > 1 && !labels.includes('') && isTopLevel && !privateSuffixes.test(hostname);
}
