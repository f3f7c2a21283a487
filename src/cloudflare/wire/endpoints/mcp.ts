import { createEndpoint } from '../endpoint.ts';
import { acceptBody, serverBody } from '../mcp.ts';

export const listServers = createEndpoint('get', '/v1/mcp', { access: 'setUp' });

export const getServer = createEndpoint('get', '/v1/mcp/:name', { access: 'setUp' });

export const putServer = createEndpoint('put', '/v1/mcp/:name', { access: 'setUp', json: serverBody });

export const deleteServer = createEndpoint('delete', '/v1/mcp/:name', { access: 'setUp' });

export const acceptTools = createEndpoint('post', '/v1/mcp/:name/accept', { access: 'setUp', json: acceptBody });

export const startLogin = createEndpoint('post', '/v1/mcp/:name/login', { access: 'setUp' });

export const endLogin = createEndpoint('delete', '/v1/mcp/:name/login', { access: 'setUp' });

export const getClientMetadata = createEndpoint('get', '/v1/mcp/client.json', {
	access: 'anybody',
	ignoresQuery: true,
});

export const finishLogin = createEndpoint('get', '/v1/mcp/callback', { access: 'anybody', ignoresQuery: true });
