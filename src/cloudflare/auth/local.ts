import { isLoopback } from '../../core/base/public-fetch.ts';

/** The header with which the proxy of `npm start` marks its requests. */
export const localHeader = 'x-runlet-local';

/** How the local mode knows its own requests. */
export interface LocalMode {
	/**
	 * The secret that `npm start` and this Worker share until the next start. Without it a name of this machine is
	 * enough.
	 */
	readonly secret: string | undefined;
}

/**
 * Whether a request came through the proxy of `npm start`. Without a proxy: whether it names this machine as its host.
 */
export function isFromThisMachine({ secret }: LocalMode, url: string, header: string | undefined): boolean {
	if (secret === undefined) return isThisMachine(url);
	return header !== undefined && isEqual(header, secret);
}

/**
 * Whether a page comes from this address. A page on another port of this machine is another page, and must not see
 * every conversation.
 */
export function isOwnPage(origin: string, url: string): boolean {
	if (!URL.canParse(origin) || !URL.canParse(url)) return false;
	const [page, own] = [new URL(origin), new URL(url)];
	if (page.host === own.host) return true;
	return isLoopback(page) && isLoopback(own) && page.port === own.port;
}

function isThisMachine(url: string): boolean {
	return URL.canParse(url) && isLoopback(new URL(url));
}

/** Compares in constant time. */
function isEqual(given: string, expected: string): boolean {
	let difference = given.length ^ expected.length;
	for (let index = 0; index < expected.length; index++)
		difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
	return difference === 0;
}
