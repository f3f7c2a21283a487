import { memoryBody, memoryHolder, memoryPage, memoryQuery, memoryReader, shownMemory } from '../memory.ts';
import { createOperations } from '../operation.ts';
import { memory, putAnswers } from './shared.ts';

const operation = createOperations('Memories');

export const listMemories = operation('get', '/v1/memories', {
	access: 'seeUsers',
	adminToo: true,
	summary: 'List or search memories',
	description: 'Sorted by path; with `query` the best first. `Accept: application/x-ndjson` exports all of them.',
	query: memoryQuery,
	headers: ['accept'],
	answers: {
		200: {
			says: 'One page, or all as lines.',
			json: memoryPage,
			examples: { page: { memories: [memory] } },
			also: { 'application/x-ndjson': { example: `${JSON.stringify(memory)}\n` } },
		},
	},
});

export const eraseMemories = operation('delete', '/v1/memories', {
	access: 'manageUsers',
	summary: 'Erase all memories',
	description: 'Erases the memories of one user, or of the owner itself.',
	query: memoryHolder,
	answers: { 204: { says: 'The memories are erased.' } },
});

export const getMemory = operation('get', '/v1/memories/:memory', {
	access: 'seeUsers',
	adminToo: true,
	summary: 'Read a memory',
	query: memoryReader,
	answers: { 200: { says: 'The memory.', json: shownMemory, examples: { memory }, headers: ['etag'] } },
});

export const putMemory = operation('put', '/v1/memories/:memory', {
	access: 'manageUsers',
	summary: 'Write a memory',
	description: 'Creates it, or replaces it. With `If-Match` it replaces only that version.',
	query: memoryHolder,
	headers: ['if-match', 'if-none-match'],
	json: memoryBody,
	examples: { memory: { text: memory.text } },
	answers: putAnswers('memory', { json: shownMemory, examples: { memory }, headers: ['etag'] }),
	errors: [409, 412, 413],
});

export const deleteMemory = operation('delete', '/v1/memories/:memory', {
	access: 'manageUsers',
	summary: 'Remove a memory',
	query: memoryHolder,
	headers: ['if-match'],
	answers: { 204: { says: 'The memory is removed.' } },
	errors: [412],
});
