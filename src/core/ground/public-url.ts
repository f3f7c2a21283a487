import { RunletError } from './errors.ts';

/** What `assertPublicUrl` lets pass, and what it calls the value. */
export interface PublicUrlOptions {
	/** Also this machine (`localhost`, `127.0.0.0/8`, `[::1]`), under http too and on any port: for the local mode. */
	readonly allowLoopback?: boolean;
	/** The field that an error names; `url`. */
	readonly field?: string;
}

/**
 * A URL that somebody else named, as it may be fetched: https, on port 443, at a name of the public internet, without a
 * user or a password. The host is checked as the parser has it, so no spelling of an address passes (`127.1`, `0x7f.1`,
 * `2130706433`, `[::ffff:127.0.0.1]`). Fetch what is returned, not the text that was given.
 *
 * Names are not resolved: one that leads to a private address is for the platform to refuse
 * (`global_fetch_strictly_public`). Throws `invalid_request` that names the field, and does not repeat the URL.
 */
export function assertPublicUrl(
	url: string | URL,
	{ allowLoopback = false, field = 'url' }: PublicUrlOptions = {},
): URL {
	const findComplaint = (what: string) =>
		new RunletError('invalid_request', `${field}: ${what}. Give an https URL at a public name.`, { field });
	const text = String(url);
	// Parsers differ over these: the next one that reads the URL might see another host.
	if (/[\s\p{Cc}\\]/u.test(text)) throw findComplaint('holds spaces, control characters or backslashes');
	if (!URL.canParse(text)) throw findComplaint('not a URL');
	const parsed = new URL(text);
	const { protocol, hostname, port, username, password } = parsed;
	if (username !== '' || password !== '') throw findComplaint('holds a user or a password');
	if (allowLoopback && isLoopback(parsed)) return parsed;
	if (protocol !== 'https:') throw findComplaint('not https');
	if (isAddress(hostname)) throw findComplaint('an IP address, not a name');
	if (!isPublicName(hostname)) throw findComplaint('a name of a private network');
	if (port !== '') throw findComplaint('on a port other than 443');
	return parsed;
}

/** Whether `assertPublicUrl` lets it pass. */
export function isPublicUrl(url: string): boolean {
	try {
		assertPublicUrl(url);
		return true;
	} catch {
		return false;
	}
}

/** Whether it is http or https to this machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
	return /^https?:$/.test(protocol) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Whether a parsed host is an address. The parser writes IPv6 in brackets and every IPv4 as four numbers. */
function isAddress(hostname: string): boolean {
	return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Last labels that the public DNS does not have: the special names of RFC 6761, 6762, 7686, 8375 and 9476, those that
 * ICANN keeps for private use, and what routers and companies use.
 */
const privateSuffixes =
	/(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|mail|test|invalid|onion|alt|arpa)$/;

/** Whether a parsed host is two labels or more, none of them empty, that may be a name of the public DNS. */
function isPublicName(hostname: string): boolean {
	const labels = hostname.split('.');
	const isTopLevel = /^([a-z]{2,}|xn--[a-z\d-]+)$/.test(labels.at(-1) ?? '');
	return labels.length > 1 && !labels.includes('') && isTopLevel && !privateSuffixes.test(hostname);
}
