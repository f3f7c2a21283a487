import { createOperations } from '../../operation.ts';
import { chunkSchema, completionSchema, errorSchema, modelListSchema, modelSchema } from './completion.ts';
import * as endpoints from './endpoints.ts';

const operation = createOperations('OpenAI');

const failure = { json: errorSchema };

const model = {
	id: 'assistant',
	object: 'model',
	created: 0,
	owned_by: 'runlet',
	description: 'Answers questions.',
	context_length: 200_000,
	architecture: { input_modalities: ['text', 'file', 'image'], output_modalities: ['text'] },
	supported_parameters: ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'max_tokens', 'stop'],
	pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
};

const frame = { id: 'chatcmpl-run_7Hq2', created: 1_795_262_400, model: 'assistant' };

const text = '17 + 25 is 42.';

const usage = {
	prompt_tokens: 212,
	completion_tokens: 18,
	total_tokens: 230,
	prompt_tokens_details: { cached_tokens: 0 },
	completion_tokens_details: { reasoning_tokens: 0 },
};

const completion = {
	...frame,
	object: 'chat.completion',
	choices: [
		{ index: 0, message: { role: 'assistant', content: text, refusal: null }, logprobs: null, finish_reason: 'stop' },
	],
	usage,
};

const chunk = {
	...frame,
	object: 'chat.completion.chunk',
	choices: [{ index: 0, delta: { content: text }, logprobs: null, finish_reason: null }],
};

export const createCompletion = operation(endpoints.createCompletion, {
	summary: 'Complete a chat',
	description:
		'Like OpenAI’s Chat Completions. Calls of the agent’s own tools are not shown. The client runs calls of the request’s `tools`.',
	headers: ['idempotency-key', 'runlet-session'],
	examples: {
		message: { model: 'assistant', messages: [{ role: 'user', content: 'What is 17 + 25?' }] },
		stream: {
			model: 'assistant',
			messages: [{ role: 'user', content: 'What is 17 + 25?' }],
			stream: true,
			stream_options: { include_usage: true },
		},
	},
	answers: {
		200: {
			says: 'The completion. With `stream: true` its chunks.',
			json: completionSchema,
			examples: { completion },
			also: {
				'text/event-stream': {
					example: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
					events: chunkSchema,
					says: 'Chunks as JSON, then `[DONE]`.',
				},
			},
			headers: ['runlet-session'],
		},
	},
	errors: [402, 404, 409],
	ownErrors: {
		406: 'The run gave no answer: it failed, or it waits for somebody. Clients do not retry this status by themselves, because tools may have run.',
	},
	failure,
});

export const listModels = operation(endpoints.listModels, {
	summary: 'List the agents as models',
	description:
		'Only the roles staff and admin read `pricing`. With the header `anthropic-version` the answer has the form of Anthropic’s models, if the Worker has the plugin `messages`.',
	answers: {
		200: { says: 'All models.', json: modelListSchema, examples: { models: { object: 'list', data: [model] } } },
	},
	failure,
});

export const getModel = operation(endpoints.getModel, {
	summary: 'Read an agent as a model',
	answers: { 200: { says: 'The model.', json: modelSchema, examples: { model } } },
	failure,
});
