import * as endpoints from '../endpoints/mcp.ts';
import { clientMetadata, loginStart, serverList, shownServer, shownServerDetails } from '../mcp.ts';
import { createOperations } from '../operation.ts';
import { putAnswers } from './shared.ts';

const operation = createOperations('MCP servers');

const definition = {
	url: 'https://example.com/mcp',
	headers: { 'x-team': `\${TEAM_KEY}` },
	allow: ['search', 'create_issue'],
	needsApproval: ['create_issue'],
};

const shown = {
	name: 'tracker',
	from: 'owner',
	...definition,
	secretNames: ['TEAM_KEY'],
	createdAt: '2026-11-21T12:00:00.000Z',
	updatedAt: '2026-11-21T12:00:00.000Z',
};

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const details = { ...shown, tools: [{ name: 'search', hash, isChanged: false }] };

const base = 'https://example.com';

const document = {
	client_id: `${base}/v1/mcp/client.json`,
	client_name: 'Runlet',
	client_uri: base,
	redirect_uris: [`${base}/v1/mcp/callback`],
	grant_types: ['authorization_code', 'refresh_token'],
	response_types: ['code'],
	token_endpoint_auth_method: 'none',
};

export const listServers = operation(endpoints.listServers, {
	summary: 'List your MCP servers',
	description: 'The servers that this owner has registered, and the servers of the agents. No server is called.',
	answers: { 200: { says: 'All servers, by name.', json: serverList, examples: { servers: { servers: [shown] } } } },
});

export const getServer = operation(endpoints.getServer, {
	summary: 'Read an MCP server and its tools',
	description: 'Asks the server for its tools, and says which of them changed since they were accepted.',
	answers: {
		200: { says: 'The server, without its secrets.', json: shownServerDetails, examples: { server: details } },
	},
});

export const putServer = operation(endpoints.putServer, {
	summary: 'Register an MCP server',
	description:
		'Creates it, or replaces it. Runs that begin afterwards offer its tools to agents with `userMcp`. Another URL than before needs its secrets and the login again.',
	examples: { server: { ...definition, secrets: { TEAM_KEY: 'a-secret-of-the-team' } } },
	answers: putAnswers('server', { json: shownServer, examples: { server: shown } }),
	errors: [409, 413],
});

export const deleteServer = operation(endpoints.deleteServer, {
	summary: 'Remove an MCP server',
	description: 'Removes its secrets, its login and the accepted tools, too.',
	answers: { 204: { says: 'The server is removed.' } },
	errors: [409],
});

export const acceptTools = operation(endpoints.acceptTools, {
	summary: 'Accept changed tools',
	description:
		'Asks the server for its tools again, and accepts each named tool that still has the given hash. Agents can call it from then on.',
	examples: { tools: { tools: { search: hash } } },
	answers: { 200: { says: 'The server with its tools.', json: shownServerDetails, examples: { server: details } } },
	errors: [409],
});

export const startLogin = operation(endpoints.startLogin, {
	summary: 'Log in to an MCP server',
	description: 'Gives the page on which a person logs in. The link is for this owner, for an hour, and for one login.',
	answers: {
		200: {
			says: 'The link, or whether there is a login already.',
			json: loginStart,
			examples: { link: { url: 'https://example.com/authorize?client_id=…', isLoggedIn: false } },
		},
	},
	errors: [409],
});

export const endLogin = operation(endpoints.endLogin, {
	summary: 'Log out of an MCP server',
	description: 'Removes the tokens. The server itself is not called.',
	answers: { 204: { says: 'The login is removed.' } },
});

export const getClientMetadata = operation(endpoints.getClientMetadata, {
	summary: 'Read the OAuth client metadata of this Worker',
	description: 'An OAuth client metadata document. Its address is the client’s id.',
	answers: { 200: { says: 'The document.', json: clientMetadata, examples: { document } } },
	errors: [404],
});

export const finishLogin = operation(endpoints.finishLogin, {
	summary: 'Finish a login',
	description: 'The login page of an MCP server sends the browser here. A run that waits for the login continues.',
	answers: {
		200: { says: 'A page that says how the login ended.', also: { 'text/html': { example: '<!doctype html>' } } },
	},
	errors: [400],
});
