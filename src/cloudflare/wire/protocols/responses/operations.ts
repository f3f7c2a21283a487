import { createOperations } from '../../operation.ts';
import { errorSchema } from '../openai/completion.ts';
import * as endpoints from './endpoints.ts';
import {
	compactionSchema,
	conversationSchema,
	deletedSchema,
	itemListSchema,
	responseEventSchema,
	responseSchema,
} from './schema.ts';

const operation = createOperations('OpenAI');

const failure = { json: errorSchema };

const session = '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708';

const id = `resp_${session}1`;

const conversationId = `conv_${session}`;

const text = '17 + 25 is 42.';

const created_at = 1_795_262_400;

const response = {
	id,
	object: 'response',
	created_at,
	completed_at: created_at + 2,
	status: 'completed',
	model: 'assistant',
	output: [
		{
			id: `msg_${session}1_0`,
			type: 'message',
			status: 'completed',
			role: 'assistant',
			content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
		},
	],
	error: null,
	incomplete_details: null,
	usage: {
		input_tokens: 212,
		input_tokens_details: { cached_tokens: 0 },
		output_tokens: 18,
		output_tokens_details: { reasoning_tokens: 0 },
		total_tokens: 230,
	},
	metadata: {},
};

const delta = { type: 'response.output_text.delta', sequence_number: 17, delta: text };

const stream = {
	'text/event-stream': {
		says: 'With `stream`, the events.',
		events: responseEventSchema,
		example: `event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`,
	},
};

const shown = { says: 'The response.', json: responseSchema, examples: { response }, also: stream };

const items = {
	says: 'A page of items.',
	json: itemListSchema,
	examples: {
		items: {
			object: 'list',
			data: [{ id: 'msg_65536_0', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
			first_id: 'msg_65536_0',
			last_id: 'msg_65536_0',
			has_more: false,
		},
	},
};

const conversation = {
	says: 'The conversation.',
	json: conversationSchema,
	examples: { conversation: { id: conversationId, object: 'conversation', created_at, metadata: {} } },
};

export const createResponse = operation(endpoints.createResponse, {
	summary: 'Create a response',
	description:
		'Like OpenAI’s Responses. A response is a run, and a conversation is a session. A Worker without the plugin `responses` does not have this.',
	headers: ['idempotency-key'],
	examples: {
		text: { model: 'assistant', input: 'What is 17 + 25?' },
		background: { model: 'assistant', input: 'What is 17 + 25?', background: true },
	},
	answers: { 200: { ...shown, headers: ['runlet-session'] } },
	errors: [402, 404, 409],
	ownErrors: {
		406: 'The run gave no answer: it failed. Clients do not retry this status by themselves, because tools may have run.',
	},
	failure,
});

export const openSocket = operation(endpoints.openSocket, {
	summary: 'Create responses over a WebSocket',
	description:
		'Each message `{ "type": "response.create", … }` has the fields of a request. It is answered with the events of its response, one a message.',
	answers: { 101: { says: 'The WebSocket is open.' } },
	failure,
});

export const compact = operation(endpoints.compact, {
	summary: 'Compact a conversation',
	description: 'The agent writes a summary. The output stands for the items of `input` in a later request.',
	headers: ['idempotency-key'],
	examples: { text: { model: 'assistant', input: [{ type: 'message', role: 'user', content: 'My name is Ada.' }] } },
	answers: {
		200: {
			says: 'The summary.',
			json: compactionSchema,
			examples: {
				compaction: {
					id,
					object: 'response.compaction',
					created_at,
					output: [{ id: `cmp_${session}`, type: 'compaction', encrypted_content: 'The user is named Ada.' }],
					usage: response.usage,
				},
			},
			headers: ['runlet-session'],
		},
	},
	errors: [402, 404, 409],
	ownErrors: {
		406: 'The run gave no summary: it failed. Clients do not retry this status by themselves, because tools may have run.',
	},
	failure,
});

export const getResponse = operation(endpoints.getResponse, {
	summary: 'Get or follow a response',
	description: 'With `stream=true` its events, from the start or behind `starting_after`, also while it is written.',
	answers: { 200: shown },
	failure,
});

export const cancelResponse = operation(endpoints.cancelResponse, {
	summary: 'Cancel a response',
	description: 'A response that has ended stays as it is.',
	answers: { 200: { says: 'The response.', json: responseSchema, examples: { response } } },
	failure,
});

export const deleteResponse = operation(endpoints.deleteResponse, {
	summary: 'Delete a response',
	description: 'With its session. A response of a longer conversation goes with the conversation.',
	answers: {
		200: {
			says: 'It is deleted.',
			json: deletedSchema,
			examples: { deleted: { id, object: 'response', deleted: true } },
		},
	},
	errors: [409],
	failure,
});

export const listInputItems = operation(endpoints.listInputItems, {
	summary: 'List the input of a response',
	answers: { 200: items },
	failure,
});

export const createConversation = operation(endpoints.createConversation, {
	summary: 'Create a conversation',
	description: 'The metadata can name the `agent`. Without it, the first response does.',
	examples: { empty: {}, named: { metadata: { agent: 'assistant' } } },
	answers: { 200: conversation },
	errors: [413],
	failure,
});

export const getConversation = operation(endpoints.getConversation, {
	summary: 'Get a conversation',
	answers: { 200: conversation },
	failure,
});

export const deleteConversation = operation(endpoints.deleteConversation, {
	summary: 'Delete a conversation',
	description: 'With all its responses.',
	answers: {
		200: {
			says: 'It is deleted.',
			json: deletedSchema,
			examples: { deleted: { id: conversationId, object: 'conversation.deleted', deleted: true } },
		},
	},
	failure,
});

export const listConversationItems = operation(endpoints.listConversationItems, {
	summary: 'List the items of a conversation',
	answers: { 200: items },
	failure,
});
