/** The thumbs of ratings. */

import { svg } from './element.ts';

const hand = 'M7 10.5v9H4v-9zM7 11l3.6-7.2c1.6 0 2.7 1.3 2.4 2.9L12.4 10H18a2 2 0 0 1 2 2.4l-1.2 5.6a2 2 0 0 1-2 1.6H7';

/** Draws a thumb. Give it words beside it. */
export function createThumb(rating: 'up' | 'down'): SVGSVGElement {
	const thumb = svg('svg', { viewBox: '0 0 24 24', class: `thumb ${rating}`, 'aria-hidden': 'true' });
	thumb.append(svg('path', { d: hand }));
	return thumb;
}
