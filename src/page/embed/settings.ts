/** The settings of the element, read from its attributes and properties (docs/embed.md, "Attributes"). */

import type { GetToken } from './door.ts';

export interface Settings {
	readonly agent?: string;
	readonly session?: string;
	readonly token?: string;
	readonly getToken?: GetToken;
	/** Who the visitor is. Each has a conversation of their own in this browser. */
	readonly user?: string;
	readonly heading?: string;
	readonly logo?: string;
	readonly welcome?: string;
	/** Messages that a visitor can send by a click. */
	readonly start?: readonly string[];
	readonly isPopup: boolean;
	/** Whether the visitor may allow calls. Undefined if nothing is said. */
	readonly approvals?: boolean;
}

/** The attributes after whose change the chat is made anew. */
export const attributes: readonly string[] = [
	'agent',
	'session',
	'token',
	'user',
	'heading',
	'logo',
	'welcome',
	'start',
	'approvals',
	'popup',
];

export function readSettings(element: Element, getToken: GetToken | undefined): Settings {
	const read = (name: string): string | undefined => element.getAttribute(name) || undefined;
	const approvals = element.getAttribute('approvals');
	return {
		...{ agent: read('agent'), session: read('session'), token: read('token'), user: read('user'), getToken },
		...{ heading: read('heading'), logo: read('logo'), welcome: read('welcome') },
		start: read('start')
			?.split(/[|\n]/)
			.flatMap((text) => text.trim() || []),
		isPopup: element.hasAttribute('popup'),
		...(approvals !== null && { approvals: approvals !== 'off' }),
	};
}
