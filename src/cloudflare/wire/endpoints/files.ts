import { createEndpoint } from '../endpoint.ts';
import { fileChangeQuery, fileQuery } from '../file.ts';

export const listFiles = createEndpoint('get', '/v1/sessions/:id/files', {
	access: 'readSession',
	adminToo: true,
	query: fileQuery,
});

export const getFile = createEndpoint('get', '/v1/sessions/:id/files/:path', { access: 'readSession', adminToo: true });

export const putFile = createEndpoint('put', '/v1/sessions/:id/files/:path', { access: 'sendMessage' });

export const deleteFile = createEndpoint('delete', '/v1/sessions/:id/files/:path', { access: 'sendMessage' });

export const listChanges = createEndpoint('get', '/v1/sessions/:id/changes', {
	access: 'readSession',
	adminToo: true,
	query: fileChangeQuery,
});
