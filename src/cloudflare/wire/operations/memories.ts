import { memoryBody, memoryHolder, memoryQuery, memoryReader } from '../memory.ts';
import { operation } from '../operation.ts';

export const listMemories = operation({
	method: 'get',
	path: '/v1/memories',
	access: 'seeUsers',
	adminToo: true,
	query: memoryQuery,
});

export const eraseMemories = operation({
	method: 'delete',
	path: '/v1/memories',
	access: 'manageUsers',
	query: memoryHolder,
});

export const getMemory = operation({
	method: 'get',
	path: '/v1/memories/:memory',
	access: 'seeUsers',
	adminToo: true,
	query: memoryReader,
});

export const putMemory = operation({
	method: 'put',
	path: '/v1/memories/:memory',
	access: 'manageUsers',
	query: memoryHolder,
	json: memoryBody,
});

export const deleteMemory = operation({
	method: 'delete',
	path: '/v1/memories/:memory',
	access: 'manageUsers',
	query: memoryHolder,
});
