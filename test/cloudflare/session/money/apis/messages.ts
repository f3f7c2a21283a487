import { getNumber, getObjects, getString, type Json } from '../../../../../src/core/providers/adapter/json.ts';
import type { Tally } from '../sheet.ts';
import { type Api, countSince, findUses, say } from './api.ts';

let blocks = 0;

/** Anthropic's Messages API. */
export const messages: Api = {
	readOffer: (body) => ({
		tools: getObjects(body, 'tools').flatMap((tool) =>
			tool.type === undefined ? [getString(tool, 'name') ?? ''] : [],
		),
		uses: findUses(body, 1),
		depth: countSince(getObjects(body, 'messages'), isSaid),
	}),
	readMost: (body) => getNumber(body, 'max_tokens'),
	readTerms: (body) => [getString(body, 'speed'), getString(body, 'inference_geo')].filter((one) => one !== undefined),
	readCache: (body) => {
		const text = JSON.stringify(body);
		if (!text.includes('"cache_control"')) return 'none';
		return text.includes('"ttl":"1h"') ? '1h' : '5m';
	},
	unitOf: ({ kind }): Readonly<Record<string, number>> => {
		if (kind === 'web_search') return { web_searches: 1 };
		return kind === 'web_fetch' ? { web_fetches: 1 } : { container_minutes: 5 };
	},
	begin: ({ model, plan, tally }) => {
		const about = { id: 'm', type: 'message', role: 'assistant', model, content: [] };
		const usage = say(plan, toUsage(tally));
		return [{ type: 'message_start', message: { ...about, ...(usage && { usage }) } }];
	},
	use: ({ kind }, n) => {
		const id = `srv_${n}`;
		const name = kind === 'code_execution' ? 'bash_code_execution' : kind;
		return [
			...block({ type: 'server_tool_use', id, name, input: { query: 'q' } }),
			...block({ type: `${name}_tool_result`, tool_use_id: id, content: [] }),
		];
	},
	thought: (thinking) =>
		block({ type: 'thinking', thinking: '', signature: 'c2ln' }, { type: 'thinking_delta', thinking }),
	text: (text) => block({ type: 'text', text: '' }, { type: 'text_delta', text }),
	call: ({ id, name, input }) =>
		block({ type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(input) }),
	end: ({ plan, isFull, terms, tally }) => {
		const { web_searches = 0, web_fetches = 0 } = tally.pieces;
		const usage = say(plan, {
			...toUsage(tally),
			server_tool_use: { web_search_requests: web_searches, web_fetch_requests: web_fetches },
			speed: terms.includes('fast') ? 'fast' : 'standard',
			inference_geo: terms.includes('us') ? 'us' : 'global',
		});
		const stop_reason = isFull ? 'max_tokens' : plan.calls.length > 0 ? 'tool_use' : 'end_turn';
		return [{ type: 'message_delta', delta: { stop_reason }, ...(usage && { usage }) }, { type: 'message_stop' }];
	},
	error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};

function isSaid({ role, content }: Json): boolean {
	return role === 'user' && JSON.stringify(content)?.includes('"tool_result"') === false;
}

function block(content_block: Json, delta?: Json): Json[] {
	const index = blocks++;
	return [
		{ type: 'content_block_start', index, content_block },
		...(delta === undefined ? [] : [{ type: 'content_block_delta', index, delta }]),
		{ type: 'content_block_stop', index },
	];
}

function toUsage({ input, cached, written, hour, output }: Tally): Json {
	return {
		input_tokens: input - cached - written,
		output_tokens: output,
		cache_read_input_tokens: cached,
		cache_creation_input_tokens: written,
		cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
		service_tier: 'standard',
	};
}
