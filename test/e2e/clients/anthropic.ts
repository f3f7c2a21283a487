import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { type Client, city, conversations, type Talk, type Terms, weather } from './client.ts';

/** `messages.create`, `.stream`, `.parse` and `toolRunner`. */
function open({ url: baseURL, agent: model, headers, isStreamed, hasTool, signal }: Terms): Talk {
	const { messages: api, beta } = new Anthropic({ apiKey: 'none', baseURL, defaultHeaders: { ...headers } });
	const messages: Anthropic.MessageParam[] = [];
	const send = async () => {
		const about = { model, max_tokens: 1_024, messages };
		if (hasTool) {
			const { name, description, parameters: input_schema, run, schema } = weather;
			const tool = { name, description, input_schema, run, parse: (given: unknown) => schema.parse(given) };
			return beta.messages.toolRunner({ ...about, tools: [tool], stream: isStreamed }).runUntilDone();
		}
		return isStreamed ? api.stream(about, { signal }).finalMessage() : api.create(about, { signal });
	};
	return {
		say: async (content) => {
			messages.push({ role: 'user', content });
			const said = (await send()).content.map((block) => ('text' in block ? block.text : '')).join('');
			messages.push({ role: 'assistant', content: said });
			return said;
		},
		parse: async () => {
			const output_config = { format: zodOutputFormat(city) };
			const about = { model, max_tokens: 99, messages: [{ role: 'user' as const, content: 'Where?' }], output_config };
			return (isStreamed ? await api.stream(about).finalMessage() : await api.parse(about)).parsed_output;
		},
	};
}

export const anthropic: readonly Client[] = [
	{ packages: ['@anthropic-ai/sdk'], wire: 'Messages', notes: conversations, open },
];
