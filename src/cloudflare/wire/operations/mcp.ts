import { acceptBody, serverBody } from '../mcp.ts';
import { operation } from '../operation.ts';

export const listServers = operation({
	method: 'get',
	path: '/v1/mcp',
	access: 'setUp',
});

export const getServer = operation({
	method: 'get',
	path: '/v1/mcp/:name',
	access: 'setUp',
});

export const putServer = operation({
	method: 'put',
	path: '/v1/mcp/:name',
	access: 'setUp',
	json: serverBody,
});

export const deleteServer = operation({
	method: 'delete',
	path: '/v1/mcp/:name',
	access: 'setUp',
});

export const acceptTools = operation({
	method: 'post',
	path: '/v1/mcp/:name/accept',
	access: 'setUp',
	json: acceptBody,
});

export const startLogin = operation({
	method: 'post',
	path: '/v1/mcp/:name/login',
	access: 'setUp',
});

export const endLogin = operation({
	method: 'delete',
	path: '/v1/mcp/:name/login',
	access: 'setUp',
});

export const getClientMetadata = operation({
	method: 'get',
	path: '/v1/mcp/client.json',
	access: 'anybody',
	ignoresQuery: true,
});

export const finishLogin = operation({
	method: 'get',
	path: '/v1/mcp/callback',
	access: 'anybody',
	ignoresQuery: true,
});
