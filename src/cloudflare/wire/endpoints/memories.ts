import { createEndpoint } from '../endpoint.ts';
import { memoryBody, memoryHolder, memoryQuery, memoryReader } from '../memory.ts';

export const listMemories = createEndpoint('get', '/v1/memories', {
	access: 'seeUsers',
	adminToo: true,
	query: memoryQuery,
});

export const eraseMemories = createEndpoint('delete', '/v1/memories', { access: 'manageUsers', query: memoryHolder });

export const getMemory = createEndpoint('get', '/v1/memories/:memory', {
	access: 'seeUsers',
	adminToo: true,
	query: memoryReader,
});

export const putMemory = createEndpoint('put', '/v1/memories/:memory', {
	access: 'manageUsers',
	query: memoryHolder,
	json: memoryBody,
});

export const deleteMemory = createEndpoint('delete', '/v1/memories/:memory', {
	access: 'manageUsers',
	query: memoryHolder,
});
