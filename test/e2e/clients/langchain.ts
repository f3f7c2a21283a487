import { ChatAnthropic } from '@langchain/anthropic';
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { type Client, city, conversations, type Talk, type Terms, weather } from './client.ts';

function open(chat: ChatOpenAI | ChatAnthropic, { isStreamed, hasTool, signal }: Terms): Talk {
	const { name, description, parameters, schema, run } = weather;
	const bound = hasTool ? chat.bindTools([{ type: 'function', function: { name, description, parameters } }]) : chat;
	const messages: BaseMessage[] = [];
	const send = async (...added: BaseMessage[]): Promise<string> => {
		messages.push(...added);
		const pieces = isStreamed ? await Array.fromAsync(await bound.stream(messages, { signal })) : [];
		const answer = isStreamed
			? pieces.reduce((whole, piece) => whole.concat(piece))
			: await bound.invoke(messages, { signal });
		messages.push(answer);
		const results = (answer.tool_calls ?? []).map(
			({ id = '', args }) => new ToolMessage({ tool_call_id: id, content: run(schema.parse(args)) }),
		);
		return results.length === 0 ? answer.text : send(...results);
	};
	return {
		say: (text) => send(new HumanMessage(text)),
		parse: async () => {
			const structured = chat.withStructuredOutput(city, { method: 'jsonSchema' });
			if (!isStreamed) return structured.invoke('Where?');
			return (await Array.fromAsync(await structured.stream('Where?'))).at(-1);
		},
	};
}

const openai = ({ url, agent: model, headers }: Terms, useResponsesApi: boolean) =>
	new ChatOpenAI({
		...{ model, apiKey: 'none', useResponsesApi },
		configuration: { baseURL: `${url}/v1`, defaultHeaders: { ...headers } },
	});

export const langchain: readonly Client[] = [
	{
		packages: ['@langchain/openai'],
		wire: 'Responses',
		notes: {
			...conversations,
			approval: 'unseen',
			retry: 'key',
			error: { stream: 'status' },
			budget: { stream: 'status' },
		},
		open: (terms) => open(openai(terms, true), terms),
	},
	{
		packages: ['@langchain/openai'],
		wire: 'Chat Completions',
		notes: { ...conversations, retry: 'key' },
		open: (terms) => open(openai(terms, false), terms),
	},
	{
		packages: ['@langchain/anthropic'],
		wire: 'Messages',
		notes: { ...conversations, retry: 'key' },
		open: (terms) => {
			const { url: anthropicApiUrl, agent: model, headers } = terms;
			const clientOptions = { defaultHeaders: { ...headers } };
			return open(
				new ChatAnthropic({ model, apiKey: 'none', anthropicApiUrl, maxTokens: 1_024, clientOptions }),
				terms,
			);
		},
	},
];
