import { operation } from '../operation.ts';
import { toolBody } from '../tool.ts';

export const listTools = operation({
	method: 'get',
	path: '/v1/tools',
	access: 'run',
});

export const getTool = operation({
	method: 'get',
	path: '/v1/tools/:name',
	access: 'run',
});

export const putTool = operation({
	method: 'put',
	path: '/v1/tools/:name',
	access: 'run',
	json: toolBody,
});

export const deleteTool = operation({
	method: 'delete',
	path: '/v1/tools/:name',
	access: 'run',
});
