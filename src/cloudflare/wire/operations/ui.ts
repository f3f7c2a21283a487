import * as endpoints from '../endpoints/ui.ts';
import { createOperations } from '../operation.ts';
import { uiChunk, uiMessageList } from '../ui.ts';

const operation = createOperations('AI SDK pages');

const chunks = [
	{ type: 'start', messageId: 'msg_65536' },
	{ type: 'start-step' },
	{ type: 'text-start', id: '1' },
	{ type: 'text-delta', id: '1', delta: '17 + 25 is 42.' },
	{ type: 'text-end', id: '1' },
	{ type: 'finish-step' },
	{ type: 'finish', finishReason: 'stop' },
];

const stream = {
	'text/event-stream': {
		says: 'The UI message stream of the AI SDK. Each `data:` is a chunk as JSON. The last one is `[DONE]`.',
		events: uiChunk,
		example: `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`,
	},
};

const failure = { also: { 'text/plain': { says: 'The message.', example: 'There is no such session.' } } };

const user = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is 17 + 25?' }] };

const assistant = {
	id: 'msg_65536',
	role: 'assistant',
	parts: [{ type: 'step-start' }, { type: 'text', text: '17 + 25 is 42.', state: 'done' }],
};

export const postChat = operation(endpoints.postChat, {
	summary: 'Send a message and stream the answer',
	description:
		'Takes what `DefaultChatTransport` posts: a message, answers to calls, an edited message, or a request to regenerate the answer. The chat’s first message creates its session.',
	headers: ['idempotency-key'],
	examples: {
		message: { id: 'chat-1', messages: [user], trigger: 'submit-message' },
		again: { id: 'chat-1', messages: [user], trigger: 'regenerate-message', messageId: 'msg_65536' },
	},
	answers: { 200: { says: 'The answer.', also: stream, headers: ['runlet-session'] } },
	errors: [409],
	failure,
});

export const resumeChat = operation(endpoints.resumeChat, {
	summary: 'Follow the current answer',
	description: 'The stream starts at the beginning of the answer.',
	answers: {
		200: { says: 'The answer.', also: stream, headers: ['runlet-session'] },
		204: { says: 'No answer is being written.' },
	},
	failure,
});

export const stopChat = operation(endpoints.stopChat, {
	summary: 'Stop the current answer',
	description: 'Stops the run itself. `stop()` in the page only disconnects from it.',
	headers: ['idempotency-key'],
	answers: { 204: { says: 'The run is stopped, or none was running.' } },
	errors: [409],
	failure,
});

export const listChat = operation(endpoints.listChat, {
	summary: 'List the messages for a page that reloads',
	description:
		'The newest messages, about 4 MB, and the messages that wait for their run. The current answer is left out: the page follows it as a stream.',
	answers: {
		200: {
			says: 'The messages, oldest first. Empty for a chat without a message.',
			json: uiMessageList,
			examples: { chat: { messages: [user, assistant] } },
			headers: ['runlet-session'],
		},
	},
	failure,
});
