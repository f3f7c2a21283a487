import { element, link } from '../parts/element.ts';
import type { Panel } from '../parts/panel.ts';

/** What an address shows that leads nowhere. */
export const missing: Panel = {
	name: 'missing',
	title: 'Nothing is here',
	about: 'The page has no such address. It is possibly misspelt, or from another version.',
	async open(root) {
		const ways = [link('', '#/', 'Start a new chat'), link('', '#/sessions', 'See all sessions')];
		root.append(element('ul', 'ways', ...ways.map((way) => element('li', '', way))));
	},
};
