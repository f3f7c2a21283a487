import { operation } from '../operation.ts';

export const receiveWebhook = operation({
	method: 'post',
	path: '/v1/webhooks/:agent/:source',
	access: 'sender',
	ignoresQuery: true,
});
