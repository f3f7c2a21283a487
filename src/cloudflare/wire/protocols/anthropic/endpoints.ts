import { createEndpoint } from '../../endpoint.ts';
import { countRequest, messageRequest } from './schema.ts';

export const createMessage = createEndpoint('post', '/v1/messages', {
	access: 'createSession',
	ignoresQuery: true,
	json: messageRequest,
	namesFiles: true,
});

export const countTokens = createEndpoint('post', '/v1/messages/count_tokens', {
	access: 'createSession',
	ignoresQuery: true,
	json: countRequest,
	namesFiles: true,
});
