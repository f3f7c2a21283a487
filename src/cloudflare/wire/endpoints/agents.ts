import { createEndpoint } from '../endpoint.ts';
import { toolCallBody, toolSession } from '../tool-call.ts';

export const listAgents = createEndpoint('get', '/v1/agents', { access: 'seeAgents' });

export const listAgentTools = createEndpoint('get', '/v1/agents/:agent/tools', {
	access: 'manageSession',
	query: toolSession,
});

export const callTool = createEndpoint('post', '/v1/agents/:agent/calls', {
	access: 'manageSession',
	json: toolCallBody,
});
