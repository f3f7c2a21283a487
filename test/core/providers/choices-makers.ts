import { type ProviderRegistration, providers } from '../../../src/core/index.ts';

type Settings = Parameters<typeof providers.openai>[0];

interface Maker {
	readonly make: (settings: Settings) => ProviderRegistration;
	readonly model: string;
	/** An answer that says "Hi.". */
	readonly answer: unknown;
}

const spoken = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] };
const responded = {
	id: 'resp_1',
	status: 'completed',
	output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] }],
};

/** The providers that use HTTP, each with its answer "Hi.". */
export const makers = {
	anthropic: {
		make: providers.anthropic,
		model: 'claude-sonnet-4-6',
		answer: { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn' },
	},
	openai: { make: providers.openai, model: 'gpt-5.4', answer: responded },
	xai: { make: providers.xai, model: 'grok-4.5', answer: responded },
	gemini: {
		make: providers.gemini,
		model: 'gemini-2.5-flash',
		answer: { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }] },
	},
	groq: { make: providers.groq, model: 'groq/openai/gpt-oss-20b', answer: spoken },
	deepseek: { make: providers.deepseek, model: 'deepseek/deepseek-chat', answer: spoken },
	mistral: { make: providers.mistral, model: 'mistral/mistral-small-latest', answer: spoken },
	ollama: { make: providers.ollama, model: 'ollama/llama', answer: spoken },
	openaiChat: {
		make: (settings: Settings) =>
			providers.openaiChat({
				...settings,
				apiKey: 'key',
				name: 'mine',
				prefix: 'mine/',
				baseURL: 'https://llm.example/v1',
			}),
		model: 'mine/model',
		answer: spoken,
	},
} as const satisfies Readonly<Record<string, Maker>>;
