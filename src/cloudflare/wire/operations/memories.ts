import { memoryBody, memoryHolder, memoryQuery } from '../memory.ts';
import { operation } from '../operation.ts';

export const listMemories = operation({
	method: 'get',
	path: '/v1/memories',
	access: 'run',
	query: memoryQuery,
});

export const eraseMemories = operation({
	method: 'delete',
	path: '/v1/memories',
	access: 'run',
	query: memoryHolder,
});

export const getMemory = operation({
	method: 'get',
	path: '/v1/memories/:memory',
	access: 'run',
	query: memoryHolder,
});

export const putMemory = operation({
	method: 'put',
	path: '/v1/memories/:memory',
	access: 'run',
	query: memoryHolder,
	json: memoryBody,
});

export const deleteMemory = operation({
	method: 'delete',
	path: '/v1/memories/:memory',
	access: 'run',
	query: memoryHolder,
});
