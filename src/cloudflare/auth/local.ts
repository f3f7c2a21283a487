import { isLoopback } from '../../core/ground/public-url.ts';

/** The header by which the proxy of `npm start` says that a request came through it. */
export const localHeader = 'x-runlet-local';

/** How the local mode knows its own requests. */
export interface LocalMode {
	/** What `npm start` and this Worker share for the time of one start; without it a name of this machine is enough. */
	readonly secret: string | undefined;
}

/** Whether a request came through the proxy of `npm start`; where there is none, whether it was sent to this machine by its name. */
export function isFromThisMachine({ secret }: LocalMode, url: string, header: string | undefined): boolean {
	if (secret === undefined) return isThisMachine(url);
	return header !== undefined && isEqual(header, secret);
}

/**
 * Whether a page is served by this very address. Another port of this machine is another page: who runs there need not
 * be trusted with every conversation.
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

/** In a time that does not tell how much of it is right. */
function isEqual(given: string, expected: string): boolean {
	let difference = given.length ^ expected.length;
	for (let index = 0; index < expected.length; index++)
		difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
	return difference === 0;
}
