import { operation } from '../operation.ts';
import { toolBody } from '../tool.ts';

export const listTools = operation({
	method: 'get',
	path: '/v1/tools',
	access: 'setUp',
});

export const getTool = operation({
	method: 'get',
	path: '/v1/tools/:name',
	access: 'setUp',
});

export const putTool = operation({
	method: 'put',
	path: '/v1/tools/:name',
	access: 'setUp',
	json: toolBody,
});

export const deleteTool = operation({
	method: 'delete',
	path: '/v1/tools/:name',
	access: 'setUp',
});
