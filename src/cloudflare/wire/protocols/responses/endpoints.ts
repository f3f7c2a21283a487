import { createEndpoint } from '../../endpoint.ts';
import { compactRequest, conversationRequest, itemQuery, responseQuery, responseRequest } from './schema.ts';

export const createResponse = createEndpoint('post', '/v1/responses', {
	access: 'createSession',
	ignoresQuery: true,
	json: responseRequest,
	namesFiles: true,
});

export const openSocket = createEndpoint('get', '/v1/responses', {
	access: 'createSession',
	ignoresQuery: true,
});

export const compact = createEndpoint('post', '/v1/responses/compact', {
	access: 'createSession',
	ignoresQuery: true,
	json: compactRequest,
});

export const getResponse = createEndpoint('get', '/v1/responses/:response', {
	access: 'readSession',
	ignoresQuery: true,
	query: responseQuery,
});

export const cancelResponse = createEndpoint('post', '/v1/responses/:response/cancel', {
	access: 'sendMessage',
	ignoresQuery: true,
});

export const deleteResponse = createEndpoint('delete', '/v1/responses/:response', {
	access: 'manageSession',
	ignoresQuery: true,
});

export const listInputItems = createEndpoint('get', '/v1/responses/:response/input_items', {
	access: 'readSession',
	ignoresQuery: true,
	query: itemQuery,
});

export const createConversation = createEndpoint('post', '/v1/conversations', {
	access: 'createSession',
	ignoresQuery: true,
	json: conversationRequest,
});

export const getConversation = createEndpoint('get', '/v1/conversations/:conversation', {
	access: 'readSession',
	ignoresQuery: true,
});

export const deleteConversation = createEndpoint('delete', '/v1/conversations/:conversation', {
	access: 'manageSession',
	ignoresQuery: true,
});

export const listConversationItems = createEndpoint('get', '/v1/conversations/:conversation/items', {
	access: 'readSession',
	ignoresQuery: true,
	query: itemQuery,
});
