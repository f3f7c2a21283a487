import * as endpoints from '../endpoints/memories.ts';
import { memoryPage, shownMemory } from '../memory.ts';
import { createOperations } from '../operation.ts';
import { memory, putAnswers } from './shared.ts';

const operation = createOperations('Memories');

export const listMemories = operation(endpoints.listMemories, {
	summary: 'List or search memories',
	description: 'Sorted by path; with `query` the best first. `Accept: application/x-ndjson` exports all of them.',
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

export const eraseMemories = operation(endpoints.eraseMemories, {
	summary: 'Erase all memories',
	description: 'Erases the memories of one user, or of the owner itself.',
	answers: { 204: { says: 'The memories are erased.' } },
});

export const getMemory = operation(endpoints.getMemory, {
	summary: 'Read a memory',
	answers: { 200: { says: 'The memory.', json: shownMemory, examples: { memory }, headers: ['etag'] } },
});

export const putMemory = operation(endpoints.putMemory, {
	summary: 'Write a memory',
	description: 'Creates it, or replaces it. With `If-Match` it replaces only that version.',
	headers: ['if-match', 'if-none-match'],
	examples: { memory: { text: memory.text } },
	answers: putAnswers('memory', { json: shownMemory, examples: { memory }, headers: ['etag'] }),
	errors: [409, 412, 413],
});

export const deleteMemory = operation(endpoints.deleteMemory, {
	summary: 'Remove a memory',
	headers: ['if-match'],
	answers: { 204: { says: 'The memory is removed.' } },
	errors: [412],
});
