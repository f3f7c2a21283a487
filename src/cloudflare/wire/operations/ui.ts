import { operation } from '../operation.ts';
import { uiPost } from '../ui.ts';

export const postChat = operation({
	method: 'post',
	path: '/v1/ui/:agent',
	access: 'sendMessage',
	ignoresQuery: true,
	json: uiPost,
});

export const resumeChat = operation({
	method: 'get',
	path: '/v1/ui/:agent/:chat/stream',
	access: 'readSession',
	ignoresQuery: true,
});

export const stopChat = operation({
	method: 'delete',
	path: '/v1/ui/:agent/:chat/stream',
	access: 'sendMessage',
	ignoresQuery: true,
});

export const listChat = operation({
	method: 'get',
	path: '/v1/ui/:agent/:chat/messages',
	access: 'readSession',
	ignoresQuery: true,
});
