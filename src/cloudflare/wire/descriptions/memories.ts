import { description } from '../description.ts';
import { memoryPage, shownMemory } from '../memory.ts';
import { memory } from './examples.ts';

export const listMemories = description({
	id: 'listMemories',
	tag: 'Memories',
	summary: 'List or search memories',
	description:
		'By path, a page at a time; with `query` the best first. `Accept: application/x-ndjson` exports all of them.',
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

export const eraseMemories = description({
	id: 'eraseMemories',
	tag: 'Memories',
	summary: 'Erase all memories',
	description: 'Those of one user, or the owner’s own.',
	answers: { 204: { says: 'Nothing is left.' } },
});

export const getMemory = description({
	id: 'getMemory',
	tag: 'Memories',
	summary: 'Read a memory',
	answers: { 200: { says: 'The memory.', json: shownMemory, examples: { memory }, headers: ['etag'] } },
	errors: [404],
});

export const putMemory = description({
	id: 'putMemory',
	tag: 'Memories',
	summary: 'Write a memory',
	description: 'Creates it, or replaces it. With `If-Match` it replaces only that version.',
	headers: ['if-match', 'if-none-match'],
	examples: { memory: { text: memory.text } },
	answers: {
		200: { says: 'The memory was replaced.', json: shownMemory, examples: { memory }, headers: ['etag'] },
		201: { says: 'The memory was created.', json: shownMemory, examples: { memory }, headers: ['etag'] },
	},
	errors: [409, 412, 413],
});

export const deleteMemory = description({
	id: 'deleteMemory',
	tag: 'Memories',
	summary: 'Remove a memory',
	headers: ['if-match'],
	answers: { 204: { says: 'The memory is removed.' } },
	errors: [404, 412],
});
