import { createAnthropic as anthropic5 } from 'ai-anthropic5';
import { createAnthropic as anthropic6 } from 'ai-anthropic6';
import { createAnthropic as anthropic7 } from 'ai-anthropic7';
import { createOpenAICompatible as compatible5 } from 'ai-compatible5';
import { createOpenAICompatible as compatible6 } from 'ai-compatible6';
import { createOpenAICompatible as compatible7 } from 'ai-compatible7';
import { createOpenAI as openai5 } from 'ai-openai5';
import { createOpenAI as openai6 } from 'ai-openai6';
import { createOpenAI as openai7 } from 'ai-openai7';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import { type Client, city, conversations, type Talk, type Terms, weather } from './client.ts';

/** What the tests use of the AI SDK. Its versions have other types. */
interface Ai {
	generateText(about: object): Promise<Result & { readonly output?: unknown; readonly experimental_output?: unknown }>;
	streamText(about: object): { readonly [K in keyof Result]: PromiseLike<Result[K]> } & {
		readonly fullStream: AsyncIterable<unknown>;
		readonly experimental_partialOutputStream: AsyncIterable<unknown>;
	};
	tool(about: object): unknown;
	stepCountIs(count: number): unknown;
	readonly Output: { object(about: object): unknown };
}

interface Result {
	readonly text: string;
	readonly content: readonly { readonly type: string; readonly approvalId?: string }[];
	readonly response: { readonly messages: readonly object[] };
}

function open(ai: Ai, model: unknown, { isStreamed, hasTool, signal: abortSignal }: Terms): Talk {
	const { description, schema: inputSchema, run } = weather;
	const own = ai.tool({ description, inputSchema, execute: async (given: { at: string }) => run(given) });
	const messages: object[] = [];
	let content: Result['content'] = [];
	const about = () => ({
		...{ model, messages, abortSignal, tools: hasTool ? { weather: own } : undefined },
		...{ stopWhen: ai.stepCountIs(4), onError: () => {} },
	});
	const send = async (message: object): Promise<string> => {
		messages.push(message);
		const result = isStreamed ? await drain(ai.streamText(about())) : await ai.generateText(about());
		messages.push(...result.response.messages);
		content = result.content;
		return result.text;
	};
	return {
		say: (text) => send({ role: 'user', content: text }),
		approve: () => {
			const { approvalId } = content.find(({ type }) => type === 'tool-approval-request') ?? {};
			return send({ role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: true }] });
		},
		parse: async () => {
			messages.push({ role: 'user', content: 'Where?' });
			const form = ai.Output.object({ schema: city });
			const more = { ...about(), output: form, experimental_output: form };
			if (isStreamed) return (await Array.fromAsync(ai.streamText(more).experimental_partialOutputStream)).at(-1);
			const { output, experimental_output } = await ai.generateText(more);
			return output ?? experimental_output;
		},
	};
}

/** Reads a stream to its end. Throws its error, which is a part of it. */
async function drain(stream: ReturnType<Ai['streamText']>): Promise<Result> {
	for await (const part of stream.fullStream) {
		const { type, error } = Object(part);
		if (type === 'error') throw new Error(JSON.stringify(error) ?? String(error), { cause: error });
		if (type === 'abort') throw new Error('aborted');
	}
	const [text, content, response] = await Promise.all([stream.text, stream.content, stream.response]);
	return { text, content, response };
}

/** Version 5 knows no calls of a server's tools. */
const notesOf5 = {
	...{ answer: { whole: 'plain' }, JSON: { whole: 'plain' }, approval: 'unseen' },
	...{ error: { stream: 'status' }, budget: { stream: 'status' } },
};

// SAFETY: `Ai` has only what all versions have.
const versions = [
	{
		version: 5,
		ai: ai5 as unknown as Ai,
		responses: notesOf5,
		openai: openai5,
		compatible: compatible5,
		anthropic: anthropic5,
	},
	{ version: 6, ai: ai6 as unknown as Ai, openai: openai6, compatible: compatible6, anthropic: anthropic6 },
	{ version: 7, ai: ai7 as unknown as Ai, openai: openai7, compatible: compatible7, anthropic: anthropic7 },
];

const toSettings = ({ url, headers }: Terms) => ({ apiKey: 'none', baseURL: `${url}/v1`, headers: { ...headers } });

/** The AI SDK with its providers. */
export const aiSdk: readonly Client[] = versions.flatMap(
	({ version, ai, responses, openai, compatible, anthropic }): Client[] => [
		{
			packages: [`ai-openai${version}`, `ai${version}`],
			wire: 'Responses',
			notes: { resume: 'elsewhere', cancel: 'leaves', retry: 'key', ...responses },
			open: (terms) => open(ai, openai(toSettings(terms)).responses(terms.agent), terms),
		},
		{
			packages: [`ai-compatible${version}`, `ai${version}`],
			wire: 'Chat Completions',
			notes: { ...conversations, retry: 'key' },
			open: (terms) => open(ai, compatible({ ...toSettings(terms), name: 'runlet' }).chatModel(terms.agent), terms),
		},
		{
			packages: [`ai-anthropic${version}`, `ai${version}`],
			wire: 'Messages',
			jsonTool: 'json',
			notes: { ...conversations, retry: 'key' },
			open: (terms) => open(ai, anthropic(toSettings(terms))(terms.agent), terms),
		},
	],
);
