import * as endpoints from '../endpoints/tools.ts';
import { createOperations } from '../operation.ts';
import { shownTool, toolList } from '../tool.ts';
import { putAnswers } from './shared.ts';

const operation = createOperations('Tools');

const definition = {
	description: 'Find the orders of a customer.',
	inputSchema: {
		type: 'object',
		properties: { customer: { type: 'string' }, limit: { type: 'integer' } },
		required: ['customer'],
	},
	url: 'https://example.com/customers/{customer}/orders',
	headers: { authorization: `Bearer \${SHOP_TOKEN}` },
};

const shown = {
	name: 'find_orders',
	...definition,
	method: 'GET',
	secretNames: ['SHOP_TOKEN'],
	timeoutMs: 30_000,
	maxResponseBytes: 100_000,
	createdAt: '2026-11-21T12:00:00.000Z',
	updatedAt: '2026-11-21T12:00:00.000Z',
};

export const listTools = operation(endpoints.listTools, {
	summary: 'List your tools',
	description: 'The HTTP tools that this owner has defined, by name. Agents with `userTools` offer them.',
	answers: { 200: { says: 'All tools.', json: toolList, examples: { tools: { tools: [shown] } } } },
});

export const getTool = operation(endpoints.getTool, {
	summary: 'Read a tool',
	answers: { 200: { says: 'The tool, without its secrets.', json: shownTool, examples: { tool: shown } } },
});

export const putTool = operation(endpoints.putTool, {
	summary: 'Define a tool',
	description:
		'Creates the tool, or replaces it. Runs that begin afterwards offer it to agents with `userTools`. A request to another URL than before needs its secrets again.',
	examples: { tool: { ...definition, secrets: { SHOP_TOKEN: 'a-secret-of-the-shop' } } },
	answers: putAnswers('tool', { json: shownTool, examples: { tool: shown } }),
	errors: [409, 413],
});

export const deleteTool = operation(endpoints.deleteTool, {
	summary: 'Remove a tool',
	description: 'Removes its secrets, too.',
	answers: { 204: { says: 'The tool is removed.' } },
});
