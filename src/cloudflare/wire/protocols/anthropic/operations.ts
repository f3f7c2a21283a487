import { createOperations } from '../../operation.ts';
import { countSchema, errorSchema, eventSchema, messageSchema } from './answer.ts';
import * as endpoints from './endpoints.ts';

const operation = createOperations('Anthropic');

const failure = { json: errorSchema };

const text = '17 + 25 is 42.';

const asked = { model: 'assistant', max_tokens: 1_024, messages: [{ role: 'user', content: 'What is 17 + 25?' }] };

const message = {
	...{ id: 'msg_run_7Hq2', type: 'message', role: 'assistant', model: 'assistant' },
	content: [{ type: 'text', text }],
	...{ stop_reason: 'end_turn', stop_sequence: null },
	usage: { input_tokens: 212, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 18 },
};

const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };

export const createMessage = operation(endpoints.createMessage, {
	summary: 'Create a message',
	description:
		'Like Anthropic’s Messages. Calls of the agent’s own tools are not shown. The client runs calls of the request’s `tools`. Needs the plugin `messages`.',
	headers: ['idempotency-key', 'runlet-session'],
	examples: { message: asked, stream: { ...asked, stream: true } },
	answers: {
		200: {
			says: 'The message. With `stream: true` its events.',
			json: messageSchema,
			examples: { message },
			also: {
				'text/event-stream': {
					example: `event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`,
					events: eventSchema,
					says: 'Events as JSON, the last `message_stop` or `error`.',
				},
			},
			headers: ['runlet-session'],
		},
	},
	errors: [402, 404, 409],
	ownErrors: {
		406: 'The run gave no answer: it failed, or it waits for somebody. Clients do not retry this status by themselves, because tools may have run.',
		529: 'Too much to do at the moment. No run began. Try again.',
	},
	failure,
});

export const countTokens = operation(endpoints.countTokens, {
	summary: 'Estimate the tokens of a message',
	description: 'Begins no run. Needs the plugin `messages`.',
	examples: { message: { model: asked.model, messages: asked.messages } },
	answers: {
		200: {
			says: 'The estimated tokens, with the agent’s system prompt and its own tools.',
			json: countSchema,
			examples: { count: { input_tokens: 412 } },
		},
	},
	errors: [404],
	failure,
});
