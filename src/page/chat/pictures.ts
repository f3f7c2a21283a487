/** Images whose bytes are in the message. The page loads no image from an address, because the request would reveal the reader. */

import { configure, element } from '../parts/element.ts';

/** Image types that cannot run scripts or load anything. */
export const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

interface Part {
	readonly kind: string;
	readonly mime?: string;
	/** The bytes in base64. */
	readonly data?: string;
	readonly name?: string;
}

/** Shows the images among some parts. Returns undefined if there are none. */
export function createPictures(parts: readonly Part[]): HTMLElement | undefined {
	const images = parts.flatMap(({ kind, data, mime = 'image/png', name = '' }) =>
		kind === 'image' && data !== undefined && shownTypes.has(mime)
			? [configure(element('img'), { alt: name, src: `data:${mime};base64,${data}` })]
			: [],
	);
	return images.length > 0 ? element('div', 'images', ...images) : undefined;
}
