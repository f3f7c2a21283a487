/** Whether a URL is that of Miniflare's code. */
export function isMiniflare(url: string): boolean {
	return url.endsWith('/miniflare/dist/src/index.js');
}

/**
 * Has Miniflare start faster. It copies its message to workerd, which holds the built Worker, each time that the message
 * grows by this many bytes: dozens of times. Other versions are not changed.
 */
export function hastenMiniflare(source: string): string {
	return source.replace(/(?<=\bMIN_SINGLE_SEGMENT_GROWTH = )4096\b/, String(1 << 20));
}
