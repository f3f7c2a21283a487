import { aguiEvent } from '../agui.ts';
import * as endpoints from '../endpoints/agui.ts';
import { createOperations } from '../operation.ts';

const operation = createOperations('AG-UI');

const run = { threadId: 'chat-1', runId: 'run-1' };
const messageId = 'run_0f8fad5b-1';
const events = [
	{ type: 'RUN_STARTED', ...run },
	{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
	{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: '17 + 25 is 42.' },
	{ type: 'TEXT_MESSAGE_END', messageId },
	{ type: 'RUN_FINISHED', ...run, outcome: { type: 'success' }, result: '17 + 25 is 42.' },
];

export const runAgui = operation(endpoints.runAgui, {
	summary: 'Run an agent for an AG-UI client',
	description:
		'Takes a `RunAgentInput` of AG-UI: a message, results of the client’s tools, or answers to interrupts. Without anything new the answer shows the thread, and follows its current run. The thread’s first message creates its session.',
	headers: ['idempotency-key'],
	examples: {
		message: { ...run, messages: [{ id: 'm1', role: 'user', content: 'What is 17 + 25?' }] },
		decision: {
			...run,
			messages: [],
			resume: [{ interruptId: 'approval:call_1', status: 'resolved', payload: { approved: true } }],
		},
	},
	answers: {
		200: {
			says: 'The run.',
			also: {
				'text/event-stream': {
					says: 'The events of AG-UI. Each `data:` is an event as JSON. The last one is `RUN_FINISHED` or `RUN_ERROR`.',
					events: aguiEvent,
					example: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
				},
			},
			headers: ['runlet-session'],
		},
	},
	errors: [409],
});
