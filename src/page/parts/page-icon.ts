/** The icons that only the page has. The element `<runlet-chat>` does not load them. */

import bookOpen from 'lucide/dist/esm/icons/book-open.mjs';
import bot from 'lucide/dist/esm/icons/bot.mjs';
import braces from 'lucide/dist/esm/icons/braces.mjs';
import brain from 'lucide/dist/esm/icons/brain.mjs';
import chartColumn from 'lucide/dist/esm/icons/chart-column.mjs';
import chartGantt from 'lucide/dist/esm/icons/chart-gantt.mjs';
import clock from 'lucide/dist/esm/icons/clock.mjs';
import cornerDownLeft from 'lucide/dist/esm/icons/corner-down-left.mjs';
import download from 'lucide/dist/esm/icons/download.mjs';
import flaskConical from 'lucide/dist/esm/icons/flask-conical.mjs';
import inbox from 'lucide/dist/esm/icons/inbox.mjs';
import messageCircle from 'lucide/dist/esm/icons/message-circle.mjs';
import messagesSquare from 'lucide/dist/esm/icons/messages-square.mjs';
import plug from 'lucide/dist/esm/icons/plug.mjs';
import search from 'lucide/dist/esm/icons/search.mjs';
import squarePen from 'lucide/dist/esm/icons/square-pen.mjs';
import sunMoon from 'lucide/dist/esm/icons/sun-moon.mjs';
import thumbsUp from 'lucide/dist/esm/icons/thumbs-up.mjs';
import users from 'lucide/dist/esm/icons/users.mjs';
import wrench from 'lucide/dist/esm/icons/wrench.mjs';
import { createIcon } from './icon.ts';

const icons = {
	book: bookOpen,
	bot,
	braces,
	bubble: messageCircle,
	bubbles: messagesSquare,
	chart: chartColumn,
	clock,
	download,
	inbox,
	memory: brain,
	pen: squarePen,
	plug,
	search,
	send: cornerDownLeft,
	team: users,
	test: flaskConical,
	theme: sunMoon,
	thumbsUp,
	tool: wrench,
	trace: chartGantt,
};

export type PageIconName = keyof typeof icons;

/** Draws an icon. Screen readers do not see it, so give it words beside it. */
export function createPageIcon(name: PageIconName): SVGSVGElement {
	return createIcon(icons[name]);
}
