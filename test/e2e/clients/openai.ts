import {
	Agent,
	type AgentInputItem,
	type AgentOutputType,
	OpenAIChatCompletionsModel,
	OpenAIResponsesModel,
	run,
	setTracingDisabled,
	tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import OpenAI5 from 'openai5';
import OpenAI6 from 'openai6';
import { type Client, city, conversations, type Talk, type Terms, weather } from './client.ts';

setTracingDisabled(true);

type Package = new (settings: { apiKey: string; baseURL: string; defaultHeaders: Record<string, string> }) => unknown;

function createClient({ url, headers = {} }: Terms, Package: Package = OpenAI): OpenAI {
	// SAFETY: the tests call only methods that all versions have. Their types differ.
	return new Package({ apiKey: 'none', baseURL: `${url}/v1`, defaultHeaders: { ...headers } }) as OpenAI;
}

const versions = { openai5: OpenAI5, openai6: OpenAI6, openai: OpenAI };

/** `responses.create`, `.stream` and `.parse`. */
function openResponses(client: OpenAI, { agent: model, isStreamed, hasTool, signal }: Terms): Talk {
	const { name, description, parameters } = weather;
	const tools = hasTool ? [{ type: 'function' as const, name, description, parameters, strict: false }] : [];
	let last: OpenAI.Responses.Response | undefined;
	const send = async (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> => {
		const body = { model, input, tools, previous_response_id: last?.id };
		last = isStreamed
			? await client.responses.stream(body, { signal }).finalResponse()
			: await client.responses.create(body, { signal });
		const outputs = last.output.flatMap((item) =>
			item.type === 'function_call'
				? [{ type: 'function_call_output' as const, call_id: item.call_id, output: look(item.arguments) }]
				: [],
		);
		return outputs.length === 0 ? last : send(outputs);
	};
	const begin = () => client.responses.create({ model, input: 'Go', background: true });
	return {
		say: async (content) => toText(await send([{ role: 'user', content }])),
		approve: async () => {
			const asked = last?.output.find(({ type }) => type === 'mcp_approval_request');
			const approval_request_id = asked?.id ?? '';
			return toText(await send([{ type: 'mcp_approval_response', approval_request_id, approve: true }]));
		},
		parse: async () => {
			const body = { model, input: 'Where?', text: { format: zodTextFormat(city, 'city') } };
			if (isStreamed) return (await client.responses.stream(body).finalResponse()).output_parsed;
			return (await client.responses.parse(body)).output_parsed;
		},
		resume: async (left) => {
			const { id } = await begin();
			let said = '';
			let seen = 0;
			for await (const event of await client.responses.retrieve(id, { stream: true })) {
				seen = event.sequence_number;
				if (event.type === 'response.output_text.delta') said += event.delta;
				if (said !== '') break;
			}
			left();
			for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: seen }))
				if (event.type === 'response.output_text.delta') said += event.delta;
			return said;
		},
		cancel: async () => {
			const { id } = await begin();
			const { status } = await client.responses.cancel(id);
			if (status !== 'cancelled') throw new Error(`The response is ${status}.`);
		},
	};
}

function look(text: string): string {
	return weather.run(weather.schema.parse(JSON.parse(text)));
}

/** Returns the text of a response. The older packages do not add it to a streamed response. */
function toText({ output }: OpenAI.Responses.Response): string {
	const contents = output.flatMap((item) => (item.type === 'message' ? item.content : []));
	return contents.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

/** `chat.completions.create`, `.stream`, `.parse` and `.runTools`. */
function openChat(client: OpenAI, { agent: model, isStreamed, hasTool, signal }: Terms): Talk {
	const { completions } = client.chat;
	const messages: OpenAI.ChatCompletionMessageParam[] = [];
	const { name, description, parameters } = weather;
	const tool = { name, description, parameters, parse: (text: string) => text, function: look };
	const send = async () => {
		const body = { model, messages: [...messages], tools: [{ type: 'function' as const, function: tool }] };
		if (hasTool)
			return (isStreamed ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)).finalContent();
		const { tools: _, ...about } = body;
		if (isStreamed) return completions.stream(about, { signal }).finalContent();
		return (await completions.create(about, { signal })).choices[0]?.message.content;
	};
	return {
		say: async (content) => {
			messages.push({ role: 'user', content });
			const said = (await send()) ?? '';
			messages.push({ role: 'assistant', content: said });
			return said;
		},
		parse: async () => {
			const body = {
				model,
				messages: [{ role: 'user' as const, content: 'Where?' }],
				response_format: zodResponseFormat(city, 'city'),
			};
			const { choices } = isStreamed
				? await completions.stream(body).finalChatCompletion()
				: await completions.parse(body);
			return choices[0]?.message.parsed;
		},
	};
}

/** `run` of the Agents SDK. */
function openAgents(
	model: OpenAIResponsesModel | OpenAIChatCompletionsModel,
	{ isStreamed, hasTool, signal }: Terms,
): Talk {
	const { name, description, schema: parameters, run: execute } = weather;
	const own = tool({ name, description, parameters, execute });
	const about = { name: 'desk', model, tools: hasTool ? [own] : [] };
	let history: AgentInputItem[] = [];
	const send = async <O extends AgentOutputType>(agent: Agent<unknown, O>, content: string) => {
		const input = [...history, { role: 'user' as const, content }];
		const result = isStreamed ? await run(agent, input, { stream: true, signal }) : await run(agent, input, { signal });
		if ('completed' in result) await result.completed;
		if ('error' in result && result.error) throw result.error;
		signal?.throwIfAborted();
		history = result.history;
		return result.finalOutput;
	};
	return {
		say: async (content) => (await send(new Agent(about), content)) ?? '',
		parse: () => send(new Agent({ ...about, outputType: city }), 'Where?'),
	};
}

/** In a stream the packages return a failed response. */
const failedStreams = { error: { stream: 'status' }, budget: { stream: 'status' } };

export const openai: readonly Client[] = [
	...Object.entries(versions).flatMap(([name, Package]): Client[] => [
		{
			packages: [name],
			wire: 'Responses',
			notes: failedStreams,
			open: (terms) => openResponses(createClient(terms, Package), terms),
		},
		{
			packages: [name],
			wire: 'Chat Completions',
			notes: conversations,
			open: (terms) => openChat(createClient(terms, Package), terms),
		},
	]),
	{
		packages: ['@openai/agents'],
		wire: 'Responses',
		notes: { ...conversations, approval: 'unseen' },
		open: (terms) => openAgents(new OpenAIResponsesModel(createClient(terms), terms.agent), terms),
	},
	{
		packages: ['@openai/agents'],
		wire: 'Chat Completions',
		notes: conversations,
		open: (terms) => openAgents(new OpenAIChatCompletionsModel(createClient(terms), terms.agent), terms),
	},
];
