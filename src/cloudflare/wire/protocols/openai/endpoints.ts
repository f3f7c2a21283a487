import { createEndpoint } from '../../endpoint.ts';
import { completionRequest } from './schema.ts';

export const createCompletion = createEndpoint('post', '/v1/chat/completions', {
	access: 'createSession',
	ignoresQuery: true,
	json: completionRequest,
	namesFiles: true,
});

export const listModels = createEndpoint('get', '/v1/models', { access: 'seeAgents', ignoresQuery: true });

export const getModel = createEndpoint('get', '/v1/models/:model', { access: 'seeAgents', ignoresQuery: true });
