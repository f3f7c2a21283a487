import { operation } from '../operation.ts';
import { changeBody, sessionBody, sessionQuery } from '../session.ts';
import { tokenBody } from '../token.ts';

export const createSession = operation({
	method: 'post',
	path: '/v1/sessions',
	access: 'createSession',
	json: sessionBody,
});

export const listSessions = operation({
	method: 'get',
	path: '/v1/sessions',
	access: 'listSessions',
	adminToo: true,
	query: sessionQuery,
});

export const getSession = operation({
	method: 'get',
	path: '/v1/sessions/:id',
	access: 'readSession',
	adminToo: true,
});

export const changeSession = operation({
	method: 'patch',
	path: '/v1/sessions/:id',
	access: 'manageSession',
	json: changeBody,
});

export const deleteSession = operation({
	method: 'delete',
	path: '/v1/sessions/:id',
	access: 'manageSession',
	adminToo: true,
});

export const createToken = operation({
	method: 'post',
	path: '/v1/sessions/:id/token',
	access: 'manageSession',
	json: tokenBody,
});

export const revokeToken = operation({
	method: 'delete',
	path: '/v1/sessions/:id/token/:tokenId',
	access: 'manageSession',
});

export const listTasks = operation({
	method: 'get',
	path: '/v1/sessions/:id/tasks',
	access: 'readSession',
	adminToo: true,
});
