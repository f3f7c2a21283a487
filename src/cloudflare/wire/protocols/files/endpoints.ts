import { createEndpoint } from '../../endpoint.ts';
import { uploadQuery } from './schema.ts';

export const createUpload = createEndpoint('post', '/v1/files', { access: 'createSession', ignoresQuery: true });

export const listUploads = createEndpoint('get', '/v1/files', {
	access: 'listSessions',
	ignoresQuery: true,
	query: uploadQuery,
});

export const getUpload = createEndpoint('get', '/v1/files/:file', { access: 'listSessions', ignoresQuery: true });

export const getUploadContent = createEndpoint('get', '/v1/files/:file/content', {
	access: 'listSessions',
	ignoresQuery: true,
});

export const deleteUpload = createEndpoint('delete', '/v1/files/:file', {
	access: 'createSession',
	ignoresQuery: true,
});
