/** Links in what a model wrote: to http and https only, and honest about where they lead. */

import { element } from '../parts/element.ts';

/**
 * Makes a link whose title is where it leads, as the browser reads it; its text says so, too, where it names another host.
 * Gives `undefined` for what is no such URL, and for a URL with a user, which looks like another host.
 */
export function createLink(href: string, children: readonly ChildNode[]): HTMLElement | undefined {
	const to = URL.canParse(href) ? new URL(href) : undefined;
	if (to === undefined || !/^https?:$/.test(to.protocol) || to.username !== '' || to.password !== '') return undefined;
	const anchor = element('a', '', ...children);
	if (namesAnotherHost(anchor.textContent, to)) anchor.append(` (${to.host})`);
	anchor.href = href;
	anchor.title = to.href;
	anchor.target = '_blank';
	anchor.rel = 'noopener noreferrer nofollow';
	return anchor;
}

/** A point, a colon, a slash or an at sign within words, as hosts and addresses have them; `3002` is the ideographic full stop. */
const hostSign = /[^\s.,:;/][.\u3002:/@\\]+[^\s.,:;]|localhost/u;

/** Whether a label may be read as an address that is not the link's own. Compared is what a reader sees: letters as they look (NFKC), and nothing that has no width. */
function namesAnotherHost(label: string, { protocol, host }: URL) {
	const seen = label
		.normalize('NFKC')
		.replace(/[\p{Cf}\p{Mn}\p{Cc}]/gu, '')
		.toLowerCase()
		.trim();
	if (!hostSign.test(seen)) return false;
	const rest = [`${protocol}//${host}`, host].find((own) => seen.startsWith(own));
	// Behind the own host may only stand a port or a path, and in them no second address.
	return rest === undefined || !/^(?::\d+)?(?:[/?#][^\s]*)?$/.test(seen.slice(rest.length));
}
