/** The parts of the start page below the chosen agent: all agents, the connection of a model, and the documents. */

import type { Agent } from '../../client/index.ts';
import { button, element, find, link } from '../parts/element.ts';
import { createPageIcon, type PageIconName } from '../parts/page-icon.ts';
import { type ConnectOptions, createConnect, hasModel } from './connect.ts';

/** What the start page says about this program. */
export const intro = 'Runlet runs agents: they use tools, ask before they act, and go on where they stopped.';

export interface HomeOptions extends Omit<ConnectOptions, 'agents'> {
	readonly agents: readonly Agent[];
	/** The name of the chosen agent. */
	readonly chosen: string;
	/** Shows another agent on the start page. */
	readonly onAgent: (name: string) => void;
	/** Begins a chat with an agent. */
	readonly onExample: (name: string, text: string) => void;
}

export function createHome(options: HomeOptions): HTMLElement {
	const { agents, chosen, onAgent, onExample } = options;
	const cards = agents.map((agent) => createCard(agent, { isChosen: agent.name === chosen, onAgent, onExample }));
	const all =
		agents.length < 2
			? undefined
			: element('section', '', element('h3', '', 'Agents'), element('ul', 'agent-cards', ...cards));
	return element('div', 'home', placeConnect(options), all, createDocuments());
}

/** Shows the connection of a model above the examples while there is no model, or says there that it is connected. */
function placeConnect(options: HomeOptions): HTMLElement | undefined {
	const connect = createConnect(options);
	document.querySelector('#welcome > .connect')?.remove();
	if (hasModel(options.agents) && options.connected === undefined) return connect;
	find('#examples', HTMLElement).before(connect);
	return undefined;
}

function createCard(
	{ name, description, examples }: Agent,
	{ isChosen, onAgent, onExample }: Pick<HomeOptions, 'onAgent' | 'onExample'> & { readonly isChosen: boolean },
): HTMLElement {
	const choose = button('agent-name', name, () => onAgent(name));
	if (isChosen) choose.ariaPressed = 'true';
	const [example] = examples;
	const start = example === undefined ? undefined : button('agent-example', '', () => onExample(name, example));
	start?.append(createPageIcon('send'), element('span', '', example));
	return element('li', 'agent-card', choose, element('p', '', description), start);
}

function createDocuments(): HTMLElement {
	const entry = (icon: PageIconName, address: string, title: string, about: string) =>
		element('li', '', link('', address, createPageIcon(icon), element('span', '', title)), element('p', '', about));
	return element(
		'section',
		'',
		element('h3', '', 'Documents'),
		element(
			'ul',
			'home-links',
			entry('book', './docs', 'API reference', 'Each route, with a form to try it.'),
			entry('braces', './openapi.json', 'OpenAPI document', 'For generators of clients.'),
		),
	);
}
