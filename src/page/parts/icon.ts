/** The page's icons. They are from the set Lucide (https://lucide.dev), and have the colour of the text around them. */

import chevronDown from 'lucide/dist/esm/icons/chevron-down.mjs';
import messageCircle from 'lucide/dist/esm/icons/message-circle.mjs';
import paperclip from 'lucide/dist/esm/icons/paperclip.mjs';
import squarePen from 'lucide/dist/esm/icons/square-pen.mjs';
import thumbsDown from 'lucide/dist/esm/icons/thumbs-down.mjs';
import thumbsUp from 'lucide/dist/esm/icons/thumbs-up.mjs';
import { button, configure, svg } from './element.ts';

const icons = {
	attach: paperclip,
	bubble: messageCircle,
	down: chevronDown,
	pen: squarePen,
	thumbsDown,
	thumbsUp,
};

export type IconName = keyof typeof icons;

/** Draws an icon. Screen readers do not see it, so give it words beside it. */
export function createIcon(name: IconName, className = ''): SVGSVGElement {
	const shapes = icons[name].map(([tag, attributes]) => svg(tag, attributes));
	return svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${className}`.trim() }, ...shapes);
}

/** Draws the thumb of a rating. */
export function createThumb(rating: 'up' | 'down'): SVGSVGElement {
	return createIcon(rating === 'up' ? 'thumbsUp' : 'thumbsDown', `thumb ${rating}`);
}

/** Makes a button that shows only an icon. `label` is its name and its tooltip. */
export function createIconButton(name: IconName, label: string, onClick: () => void): HTMLButtonElement {
	const control = configure(button('icon-button', '', onClick), { ariaLabel: label, title: label });
	control.append(createIcon(name));
	return control;
}
