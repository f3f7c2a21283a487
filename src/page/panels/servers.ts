/** The MCP servers of an owner: their tools and logins, and changed tool definitions that a person must accept. */

import type { McpServer, McpServerDetails } from '../../client/index.ts';
import { element } from '../parts/element.ts';
import {
	createAction,
	createField,
	createForm,
	createRemoval,
	createTextArea,
	createTextField,
	parseTexts,
} from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';

export const servers: Panel = {
	name: 'servers',
	right: 'setUp',
	title: 'MCP servers',
	about: 'Servers whose tools agents may call: yours, and those that agents name.',
	async open(root, place) {
		const known = await place.client.listMcpServers({ signal: place.signal });
		root.append(
			element('details', 'adding', element('summary', '', 'Add a server'), createNew(place)),
			element('p', 'nothing', 'There is no MCP server.'),
			element('ul', 'cards', ...known.map((server) => createEntry(server, place))),
		);
	},
};

function createEntry({ name, url, from, isLoggedIn }: McpServer, place: Place): HTMLElement {
	const { client, signal, again } = place;
	const tools = element('div');
	const look = createAction('Tools', name, async () => {
		tools.replaceChildren(createTools(await client.getMcpServer(name, { signal }), place));
	});
	const logIn = createAction('Log in', name, async () => {
		const { url: page = '' } = await client.startMcpLogin(name, { signal });
		// If the owner is already logged in, there is no login page to open.
		if (/^https?:/.test(page)) location.assign(page);
		else again();
	});
	const logOut = createAction('Log out', name, async () => {
		await client.endMcpLogin(name, { signal });
		again();
	});
	const remove = createRemoval(name, async () => {
		await client.deleteMcpServer(name, { signal });
		again();
	});
	const whose = element('span', 'about', from === 'owner' ? 'yours' : 'of an agent');
	const login = isLoggedIn === undefined ? undefined : isLoggedIn ? logOut : logIn;
	const removal = from === 'owner' ? remove : undefined;
	const head = element('p', 'card-head', element('b', 'title', name), whose, look, login, removal);
	return element('li', 'card', head, element('p', 'mono about', url), tools);
}

/** Lists the tools. A changed tool is compared with its accepted version, and a button accepts the change. */
function createTools(server: McpServerDetails, { client, signal, again }: Place): HTMLElement {
	const { tools = [], problem } = server;
	if (problem !== undefined) return element('p', 'failure', problem);
	if (tools.length === 0) return element('p', 'about', 'It has no tools.');
	const lines = tools.map(({ name, hash, isChanged, differences = [] }) => {
		if (!isChanged) return element('li', '', element('code', '', name));
		const accept = createAction('Accept', name, async () => {
			await client.acceptMcpTools(server.name, { [name]: hash }, { signal });
			again();
		});
		const changes = differences.map(({ field, accepted, offered }) =>
			element('div', 'difference', field, element('del', '', accepted), element('ins', '', offered)),
		);
		return element('li', '', element('code', '', name), element('b', '', 'has changed'), accept, ...changes);
	});
	return element('ul', 'names', ...lines);
}

function createNew({ client, signal, again }: Place): HTMLElement {
	const name = createTextField('', 'tracker');
	const url = createTextField('', 'https://mcp.example.com/mcp');
	const headers = createTextArea('{}', 2);
	const secrets = createTextArea('{}', 2);
	const fields = [
		createField('Name', name),
		createField('URL', url),
		createField('Headers', headers, `\${NAME} is the secret of that name.`),
		createField('Secrets', secrets, 'No answer shows them.'),
	];
	return createForm('Add', fields, async () => {
		const body = {
			url: url.value,
			headers: parseTexts('Headers', headers.value),
			secrets: parseTexts('Secrets', secrets.value),
		};
		await client.putMcpServer(name.value, body, { signal });
		again();
	});
}
