import { fileChangeQuery, fileQuery } from '../file.ts';
import { operation } from '../operation.ts';

export const listFiles = operation({
	method: 'get',
	path: '/v1/sessions/:id/files',
	access: 'readSession',
	adminToo: true,
	query: fileQuery,
});

export const getFile = operation({
	method: 'get',
	path: '/v1/sessions/:id/files/:path',
	access: 'readSession',
	adminToo: true,
});

export const putFile = operation({
	method: 'put',
	path: '/v1/sessions/:id/files/:path',
	access: 'sendMessage',
});

export const deleteFile = operation({
	method: 'delete',
	path: '/v1/sessions/:id/files/:path',
	access: 'sendMessage',
});

export const listChanges = operation({
	method: 'get',
	path: '/v1/sessions/:id/changes',
	access: 'readSession',
	adminToo: true,
	query: fileChangeQuery,
});
