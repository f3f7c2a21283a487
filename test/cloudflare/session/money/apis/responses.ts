import { getNumber, getObjects, getString, type Json } from '../../../../../src/core/providers/adapter/json.ts';
import type { Call, Offer } from '../plan.ts';
import { type Api, countSince, findUses, say } from './api.ts';

/** OpenAI's Responses API. */
export const responses: Api = {
	readOffer: (body) => {
		const most = getNumber(body, 'max_tool_calls') ?? 0;
		return {
			tools: getObjects(body, 'tools').flatMap(({ type, name }) => (type === 'function' ? [`${name}`] : [])),
			uses: share(findUses(body, most), most),
			depth: countSince(getObjects(body, 'input'), ({ role }) => role === 'user'),
		};
	},
	readMost: (body) => getNumber(body, 'max_output_tokens'),
	readTerms: (body) => {
		const tier = getString(body, 'service_tier') ?? 'default';
		return tier === 'default' ? [] : [tier];
	},
	readCache: () => 'none',
	unitOf: ({ kind }): Readonly<Record<string, number>> =>
		kind === 'web_search' ? { web_searches: 1 } : { containers: 1 },
	begin: ({ model }) => [{ type: 'response.created', response: { id: 'r', model, status: 'in_progress', output: [] } }],
	use: ({ kind }, n) => {
		const item = kind === 'web_search' ? toSearch(n) : code;
		return [
			{ type: 'response.output_item.added', output_index: n, item: { ...item, status: 'in_progress' } },
			{ type: 'response.output_item.done', output_index: n, item },
		];
	},
	thought: (delta) => [
		{ type: 'response.reasoning_summary_text.delta', item_id: 'rs', output_index: 90, summary_index: 0, delta },
	],
	text: (delta) => [{ type: 'response.output_text.delta', item_id: 'msg', output_index: 91, content_index: 0, delta }],
	call: (call, n) => {
		const item = toItem(call);
		return [
			{ type: 'response.output_item.added', output_index: 100 + n, item: { ...item, arguments: '' } },
			{ type: 'response.output_item.done', output_index: 100 + n, item },
		];
	},
	end: ({ model, plan, isFull, text, terms, body, tally }) => {
		const { input, cached, output } = tally;
		const usage = say(plan, {
			input_tokens: input,
			input_tokens_details: { cached_tokens: cached },
			output_tokens: output,
			output_tokens_details: { reasoning_tokens: Math.min(plan.thinking, output) },
			total_tokens: input + output,
		});
		const searches = plan.uses.flatMap(({ kind }, n) => (kind === 'web_search' ? [toSearch(n)] : []));
		const content = [{ type: 'output_text', text, annotations: [] }];
		const said = { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content };
		const response = {
			...{ id: 'r', model, status: isFull ? 'incomplete' : 'completed', tools: body.tools ?? [] },
			service_tier: terms[0] ?? 'default',
			output: [
				...searches,
				...(tally.pieces.containers === undefined ? [] : [code]),
				...(text === '' ? [] : [said]),
				...(isFull ? [] : plan.calls.map(toItem)),
			],
			...(isFull && { incomplete_details: { reason: 'max_output_tokens' } }),
			...(usage && { usage }),
		};
		return [{ type: isFull ? 'response.incomplete' : 'response.completed', response }];
	},
	error: { type: 'error', code: 'server_error', message: 'The server had an error.' },
};

const code = { type: 'code_interpreter_call', id: 'srv_c', status: 'completed', code: '1', container_id: 'c_1' };

function toSearch(n: number): Json {
	return { type: 'web_search_call', id: `srv_${n}`, status: 'completed', action: { type: 'search', query: 'q' } };
}

function toItem({ id, name, input }: Call): Json {
	return { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(input) };
}

/** Limits tools that share a number of uses. */
function share({ web_search, code_execution }: Offer['uses'], most: number): Offer['uses'] {
	const codes = Math.min(code_execution, most);
	return { web_search: Math.min(web_search, most - codes), web_fetch: 0, code_execution: codes };
}
