import {
	getNumber,
	getObject,
	getObjects,
	getString,
	type Json,
} from '../../../../../src/core/providers/adapter/json.ts';
import { type Api, countSince, say } from './api.ts';

/** Chat Completions. */
export const chatCompletions: Api = {
	readOffer: (body) => ({
		tools: getObjects(body, 'tools').map((tool) => getString(getObject(tool, 'function'), 'name') ?? ''),
		uses: { web_search: 0, web_fetch: 0, code_execution: 0 },
		depth: countSince(getObjects(body, 'messages'), ({ role }) => role === 'user'),
	}),
	readMost: (body) => getNumber(body, 'max_completion_tokens') ?? getNumber(body, 'max_tokens'),
	readTerms: () => [],
	readCache: () => 'none',
	unitOf: () => ({}),
	begin: ({ model }) => [toChunk({ role: 'assistant', content: '' }, { model })],
	use: () => [],
	thought: (reasoning_content) => [toChunk({ reasoning_content })],
	text: (content) => [toChunk({ content })],
	call: ({ id, name, input }, index) => [
		toChunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } }] }),
	],
	end: ({ model, plan, isFull, tally }) => {
		const { input, cached, audio, output } = tally;
		const finish_reason = isFull ? 'length' : plan.calls.length > 0 ? 'tool_calls' : 'stop';
		const usage = say(plan, {
			prompt_tokens: input,
			completion_tokens: output,
			total_tokens: input + output,
			prompt_tokens_details: { cached_tokens: cached, audio_tokens: audio },
			completion_tokens_details: { reasoning_tokens: Math.min(plan.thinking, output) },
		});
		return [
			{ id: 'c', model, choices: [{ index: 0, delta: {}, finish_reason }] },
			...(usage === undefined ? [] : [{ id: 'c', model, choices: [], usage }]),
		];
	},
	error: { error: { message: 'Overloaded', code: 503 } },
	last: 'data: [DONE]\n\n',
};

function toChunk(delta: Json, about: Json = {}): Json {
	return { id: 'c', ...about, choices: [{ index: 0, delta }] };
}
