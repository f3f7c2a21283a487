import { createEndpoint } from '../../endpoint.ts';
import { rpcBody } from './rpc.ts';

export const callA2a = createEndpoint('post', '/v1/a2a/:agent', {
	access: 'sendMessage',
	ignoresQuery: true,
	json: rpcBody,
});

export const getAgentCard = createEndpoint('get', '/v1/a2a/:agent/.well-known/agent-card.json', {
	access: 'anybody',
	ignoresQuery: true,
});
