/** The page's icons. They are from the set Lucide (https://lucide.dev), and have the colour of the text around them. */

import arrowDown from 'lucide/dist/esm/icons/arrow-down.mjs';
import arrowLeft from 'lucide/dist/esm/icons/arrow-left.mjs';
import bookOpen from 'lucide/dist/esm/icons/book-open.mjs';
import bot from 'lucide/dist/esm/icons/bot.mjs';
import check from 'lucide/dist/esm/icons/check.mjs';
import chevronDown from 'lucide/dist/esm/icons/chevron-down.mjs';
import copy from 'lucide/dist/esm/icons/copy.mjs';
import globe from 'lucide/dist/esm/icons/globe.mjs';
import hand from 'lucide/dist/esm/icons/hand.mjs';
import layers from 'lucide/dist/esm/icons/layers.mjs';
import loaderCircle from 'lucide/dist/esm/icons/loader-circle.mjs';
import messageCircle from 'lucide/dist/esm/icons/message-circle.mjs';
import paperclip from 'lucide/dist/esm/icons/paperclip.mjs';
import pencil from 'lucide/dist/esm/icons/pencil.mjs';
import refresh from 'lucide/dist/esm/icons/refresh-cw.mjs';
import shieldQuestionMark from 'lucide/dist/esm/icons/shield-question-mark.mjs';
import squarePen from 'lucide/dist/esm/icons/square-pen.mjs';
import thumbsDown from 'lucide/dist/esm/icons/thumbs-down.mjs';
import thumbsUp from 'lucide/dist/esm/icons/thumbs-up.mjs';
import wrench from 'lucide/dist/esm/icons/wrench.mjs';
import x from 'lucide/dist/esm/icons/x.mjs';
import { say } from '../../client/say.ts';
import { button, configure, svg } from './element.ts';

const icons = {
	again: refresh,
	agent: bot,
	arrowDown,
	asks: shieldQuestionMark,
	attach: paperclip,
	back: arrowLeft,
	bubble: messageCircle,
	check,
	close: x,
	copy,
	cross: x,
	down: chevronDown,
	edit: pencil,
	globe,
	group: layers,
	hand,
	loader: loaderCircle,
	pen: squarePen,
	skill: bookOpen,
	tool: wrench,
	thumbsDown,
	thumbsUp,
};

export type IconName = keyof typeof icons;

/** An icon that only some scripts have is given by its shapes. */
export type Icon = IconName | typeof copy;

/** Draws an icon. Screen readers do not see it, so give it words beside it. */
export function createIcon(icon: Icon, className = ''): SVGSVGElement {
	const shapes = (typeof icon === 'string' ? icons[icon] : icon).map(([tag, attributes]) => svg(tag, attributes));
	return svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${className}`.trim() }, ...shapes);
}

/** Draws the thumb of a rating. */
export function createThumb(rating: 'up' | 'down'): SVGSVGElement {
	return createIcon(rating === 'up' ? 'thumbsUp' : 'thumbsDown', `thumb ${rating}`);
}

/** Makes an icon that copies a text, and then shows for a while that it did. */
export function createCopyIcon(label: string, read: () => string): HTMLButtonElement {
	const control = createIconButton('copy', label, async () => {
		await navigator.clipboard.writeText(read());
		configure(control, { title: say('Copied') }).replaceChildren(createIcon('check'));
	});
	control.addEventListener('blur', () => {
		configure(control, { title: label }).replaceChildren(createIcon('copy'));
	});
	return control;
}

/** Makes a button that shows only an icon. `label` is its name and its tooltip. */
export function createIconButton(icon: Icon, label: string, onClick: () => void): HTMLButtonElement {
	const control = configure(button('icon-button', '', onClick), { ariaLabel: label, title: label });
	control.append(createIcon(icon));
	return control;
}
