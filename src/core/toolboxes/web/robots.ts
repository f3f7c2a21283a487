import { RunletError } from '../../base/errors.ts';
import { type PublicFetchOptions, publicFetch } from '../../base/public-fetch.ts';
import { robotsParser } from './libraries.ts';

/** The maximum size of robots.txt in bytes (RFC 9309, 2.5). */
const maxBytes = 512_000;

/**
 * Throws `invalid_argument` if a site's robots.txt forbids an address (RFC 9309). If a site has no robots.txt, every
 * address is allowed. If its robots.txt cannot be read, no address is allowed.
 */
export async function assertRobotsAllowed(
	url: URL,
	{
		signal,
		...options
	}: Omit<PublicFetchOptions, 'maxBytes' | 'maxRedirects' | 'field'> & { readonly signal: AbortSignal },
): Promise<void> {
	const address = new URL('/robots.txt', url);
	if (url.href === address.href) return;
	const rules = await readRules(address, { ...options, signal });
	if (rules === undefined)
		throw createRefusal(
			`url: the rules for robots of ${url.host} could not be read. Try it later, or read another site.`,
		);
	const isAllowed = robotsParser(address.href, rules).isAllowed(url.href, agentName) ?? true;
	if (!isAllowed) throw createRefusal(`url: ${address.href} forbids robots to read it. Read another page.`);
}

async function readRules(
	address: URL,
	{ signal, ...options }: Parameters<typeof assertRobotsAllowed>[1],
): Promise<string | undefined> {
	try {
		const headers = { 'user-agent': webAgent };
		const response = await publicFetch(
			address,
			{ headers, signal },
			{ ...options, maxBytes, maxRedirects: 5, field: 'url' },
		);
		if (response.ok) return await response.text();
		await response.body?.cancel();
		return response.status >= 400 && response.status < 500 ? '' : undefined;
	} catch {
		signal.throwIfAborted();
		return undefined;
	}
}

function createRefusal(message: string): RunletError {
	return new RunletError('invalid_argument', message, { field: 'url' });
}

/** The name by which robots.txt refers to Runlet (RFC 9309, "product token"). */
export const agentName = 'runlet';

/**
 * The user agent of the web tools. A Runlet API that requires no key refuses requests by this user agent, because a
 * model must not read other sessions.
 */
export const webAgent = 'runlet (web tools)';
