import { createEndpoint } from '../endpoint.ts';
import { uiPost } from '../ui.ts';

export const postChat = createEndpoint('post', '/v1/ui/:agent', {
	access: 'sendMessage',
	ignoresQuery: true,
	json: uiPost,
});

export const resumeChat = createEndpoint('get', '/v1/ui/:agent/:chat/stream', {
	access: 'readSession',
	ignoresQuery: true,
});

export const stopChat = createEndpoint('delete', '/v1/ui/:agent/:chat/stream', {
	access: 'sendMessage',
	ignoresQuery: true,
});

export const listChat = createEndpoint('get', '/v1/ui/:agent/:chat/messages', {
	access: 'readSession',
	ignoresQuery: true,
});
