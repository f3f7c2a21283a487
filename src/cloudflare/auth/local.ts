import { isLoopback } from '../../core/base/public-fetch.ts';

/** The header with the secret, which the proxy of `npm start` sends. */
export const localHeader = 'x-runlet-local';

export interface LocalMode {
	/** Shared by `npm start` and this Worker until the next start. Without it, only the request's host is checked. */
	readonly secret: string | undefined;
}

/** Whether a request came through the proxy of `npm start`. Without a secret, only checks the request's host. */
export function isFromThisMachine({ secret }: LocalMode, url: string, header: string | undefined): boolean {
	if (secret === undefined) return URL.canParse(url) && isLoopback(new URL(url));
	return header !== undefined && isEqual(header, secret);
}

/** Whether a page is from this Worker. Pages on other ports of this machine must not read the conversations. */
export function isOwnPage(origin: string, url: string): boolean {
	if (!URL.canParse(origin) || !URL.canParse(url)) return false;
	const [page, own] = [new URL(origin), new URL(url)];
	if (page.host === own.host) return true;
	return isLoopback(page) && isLoopback(own) && page.port === own.port;
}

/** Compares in constant time. */
function isEqual(given: string, expected: string): boolean {
	let difference = given.length ^ expected.length;
	for (let index = 0; index < expected.length; index++)
		difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
	return difference === 0;
}
