import { createEndpoint } from '../endpoint.ts';

export const receiveWebhook = createEndpoint('post', '/v1/webhooks/:agent/:source', {
	access: 'sender',
	ignoresQuery: true,
});
