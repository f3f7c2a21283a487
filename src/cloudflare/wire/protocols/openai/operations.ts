import { operation } from '../../operation.ts';
import { completionRequest } from './schema.ts';

export const createCompletion = operation({
	method: 'post',
	path: '/v1/chat/completions',
	access: 'createSession',
	ignoresQuery: true,
	json: completionRequest,
});

export const listModels = operation({
	method: 'get',
	path: '/v1/models',
	access: 'seeAgents',
	ignoresQuery: true,
});

export const getModel = operation({
	method: 'get',
	path: '/v1/models/:model',
	access: 'seeAgents',
	ignoresQuery: true,
});
