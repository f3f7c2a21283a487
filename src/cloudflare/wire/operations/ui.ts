import { operation } from '../operation.ts';
import { uiMessageList, uiPost } from '../ui.ts';
import { uiChunk } from '../ui-chunk.ts';

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
		says: 'The UI message stream of the AI SDK: each `data:` is a chunk as JSON, the last one `[DONE]`.',
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

export const postChat = operation({
	id: 'postChat',
	method: 'post',
	path: '/v1/ui/:agent',
	tag: 'AI SDK pages',
	summary: 'Say something, and stream the answer',
	description:
		'What `DefaultChatTransport` posts: a message, answers to calls, an edited message, or the wish for another answer. The chat’s first message makes its session.',
	access: 'token',
	ignoresQuery: true,
	headers: ['idempotency-key'],
	json: uiPost,
	examples: {
		message: { id: 'chat-1', messages: [user], trigger: 'submit-message' },
		again: { id: 'chat-1', messages: [user], trigger: 'regenerate-message', messageId: 'msg_65536' },
	},
	answers: { 200: { says: 'The answer.', also: stream, headers: ['runlet-session'] } },
	errors: [404, 409],
	failure,
});

export const resumeChat = operation({
	id: 'resumeChat',
	method: 'get',
	path: '/v1/ui/:agent/:chat/stream',
	tag: 'AI SDK pages',
	summary: 'Follow the answer that is being written',
	description: 'From its beginning on.',
	access: 'token',
	ignoresQuery: true,
	answers: {
		200: { says: 'The answer.', also: stream, headers: ['runlet-session'] },
		204: { says: 'Nothing is being written.' },
	},
	errors: [404],
	failure,
});

export const stopChat = operation({
	id: 'stopChat',
	method: 'delete',
	path: '/v1/ui/:agent/:chat/stream',
	tag: 'AI SDK pages',
	summary: 'Stop the answer that is being written',
	description: 'The run itself: `stop()` of the page only leaves it.',
	access: 'token',
	ignoresQuery: true,
	headers: ['idempotency-key'],
	answers: { 204: { says: 'Nothing is being written any more.' } },
	errors: [404, 409],
	failure,
});

export const listChat = operation({
	id: 'listChat',
	method: 'get',
	path: '/v1/ui/:agent/:chat/messages',
	tag: 'AI SDK pages',
	summary: 'List the messages for a page that is loaded again',
	description:
		'The newest 4 MB or so, and the messages that wait for their run. Without the answer that is being written: the page follows that.',
	access: 'token',
	ignoresQuery: true,
	answers: {
		200: {
			says: 'The messages, oldest first; none for a chat that has not begun.',
			json: uiMessageList,
			examples: { chat: { messages: [user, assistant] } },
			headers: ['runlet-session'],
		},
	},
	errors: [404],
	failure,
});
