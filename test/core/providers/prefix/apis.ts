import { isRecord } from '../../../../src/core/base/json.ts';
import { type ProviderRegistration, providers } from '../../../../src/core/index.ts';
import { anthropic } from '../wire/anthropic.ts';
import { chatCompletions } from '../wire/chat.ts';
import type { NeutralReply } from '../wire/dialect.ts';
import { gemini } from '../wire/gemini.ts';
import { openai, xai } from '../wire/responses.ts';
import { workersAi } from '../wire/workers-ai.ts';

/** Answers a request with a status and a body. */
export type Answer = (body: Json) => { readonly status: number; readonly body: unknown };

type Json = Readonly<Record<string, unknown>>;

/** The parts of a request as JSON, in the order in which a cache compares them. */
export interface Parts {
	readonly tools: readonly string[];
	/** The system prompt and the conversation. */
	readonly rest: readonly string[];
}

/** A provider, with the rules of its cache. */
export interface Api {
	readonly name: string;
	readonly model: string;
	provider(answer: Answer): ProviderRegistration;
	/** Writes a reply in the form of the API. */
	body(reply: NeutralReply): unknown;
	/** Lists the parts that a cache compares. */
	parts(body: Json): Parts;
	/** Whether later tools are before the conversation, after the other tools. */
	readonly toolsInFront: boolean;
}

const key = { apiKey: 'key' };

function createFetch(answer: Answer): typeof fetch {
	return async (input, init) => {
		const given: unknown = JSON.parse(await new Request(input, init).text());
		const { status, body } = answer(isRecord(given) ? given : {});
		return Response.json(body, { status });
	};
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const toJson = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value));

/** Leaves out the cache marks and the deferred tools, because their places change. */
function messagesParts({ tools, system, messages }: Json): Parts {
	const unmarked = ({ cache_control: _, ...block }: Json): Json => block;
	const blocks = list(messages).flatMap(({ role, content }) =>
		list(content).map((block) => ({ role, block: unmarked(block) })),
	);
	const first = list(tools).filter((tool) => tool.defer_loading !== true);
	return { tools: toJson(first.map(unmarked)), rest: toJson([...list(system).map(unmarked), ...blocks]) };
}

function responsesParts({ instructions, tools, input }: Json): Parts {
	return { tools: toJson(list(tools)), rest: toJson([instructions ?? '', ...list(input)]) };
}

function chatParts({ tools, messages }: Json): Parts {
	return { tools: toJson(list(tools)), rest: toJson(list(messages)) };
}

function geminiParts({ tools, systemInstruction, contents }: Json): Parts {
	const parts = list(contents).flatMap(({ role, parts }) => list(parts).map((part) => ({ role, part })));
	const functions = list(tools).flatMap(({ functionDeclarations }) => list(functionDeclarations));
	return { tools: toJson(functions), rest: toJson([systemInstruction ?? '', ...parts]) };
}

const messages = (model: string): Api => ({
	name: model,
	model,
	provider: (answer) => providers.anthropic({ ...key, fetch: createFetch(answer) }),
	body: anthropic.body,
	parts: messagesParts,
	toolsInFront: /claude-(3|sonnet-4-2)/.test(model),
});

const responses = (model: string): Api => ({
	name: model,
	model,
	provider: (answer) => providers.openai({ ...key, fetch: createFetch(answer) }),
	body: openai.body,
	parts: responsesParts,
	toolsInFront: model !== 'gpt-5.6',
});

const chat = (name: 'groq' | 'deepseek' | 'mistral' | 'ollama'): Api => ({
	name,
	model: `${name}/model-1`,
	provider: (answer) => providers[name]({ ...key, fetch: createFetch(answer) }),
	body: chatCompletions.body,
	parts: chatParts,
	toolsInFront: true,
});

/** All adapters, with a model of each kind. */
export const apis: readonly Api[] = [
	messages('claude-opus-4-8'),
	messages('claude-sonnet-4-5-20250929'),
	messages('claude-3-7-sonnet-latest'),
	responses('gpt-5.6'),
	responses('gpt-5'),
	{
		name: 'xai',
		model: 'grok-4',
		provider: (answer) => providers.xai({ ...key, fetch: createFetch(answer) }),
		body: xai.body,
		parts: responsesParts,
		toolsInFront: true,
	},
	{
		name: 'gemini',
		model: 'gemini-3-pro',
		provider: (answer) => providers.gemini({ ...key, fetch: createFetch(answer) }),
		body: gemini.body,
		parts: geminiParts,
		toolsInFront: true,
	},
	chat('groq'),
	chat('deepseek'),
	chat('mistral'),
	chat('ollama'),
	{
		name: 'workers-ai',
		model: 'workers-ai/@cf/moonshotai/kimi-k2.6',
		provider: (answer) =>
			providers.workersAi({
				binding: {
					run: async (_, inputs) => {
						const { status, body } = answer(inputs);
						return Response.json(body, { status });
					},
				},
			}),
		body: workersAi.body,
		parts: chatParts,
		toolsInFront: true,
	},
];
