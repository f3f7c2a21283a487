import type { ProviderRegistration } from '../../core/chat/index.ts';
import {
	anthropic,
	deepseek,
	demo,
	gemini,
	groq,
	mistral,
	ollama,
	openai,
	openaiChat,
	workersAi,
	xai,
} from '../../core/providers/index.ts';
import type { Config } from './config.ts';
import type { Endpoint } from './variables.ts';

/** The pause between two words, so that people see the words stream in. */
const demoPace = { delayMs: 15 };

/** The settings of the providers. */
type ModelSettings = Pick<Config, 'findEndpoint' | 'ai' | 'prices' | 'chatModels'>;

const made = new WeakMap<ModelSettings, readonly ProviderRegistration[]>();

/**
 * The providers of this Worker (docs/models.md). A provider without a key still lists its models, and names the
 * variable to set. To add a provider, add a line here, and its variables in `config.ts`.
 */
export function createProviders(config: ModelSettings): readonly ProviderRegistration[] {
	const known = made.get(config);
	if (known !== undefined) return known;
	const providers = [
		demo(demoPace),
		anthropic(config.findEndpoint('ANTHROPIC')),
		openai(config.findEndpoint('OPENAI')),
		xai(config.findEndpoint('XAI')),
		gemini(config.findEndpoint('GEMINI')),
		groq(config.findEndpoint('GROQ')),
		deepseek(config.findEndpoint('DEEPSEEK')),
		mistral(config.findEndpoint('MISTRAL')),
		localModels(config.findEndpoint('OLLAMA')),
		workersAi({ binding: config.ai }),
		ownModels(config),
	];
	const priced = withPrices(providers, config);
	made.set(config, priced);
	return priced;
}

export function withPrices(
	providers: readonly ProviderRegistration[],
	{ prices }: Pick<Config, 'prices'>,
): readonly ProviderRegistration[] {
	if (Object.keys(prices).length === 0) return providers;
	return providers.map((provider) => provider.withPrices?.(prices) ?? provider);
}

/** Your own endpoint with Chat Completions, from the environment. */
function ownModels({ chatModels, findEndpoint }: ModelSettings): ProviderRegistration {
	const { apiKey, baseURL } = findEndpoint('CHAT');
	const names = new Set(chatModels.map((model) => model.toLowerCase()));
	const { variant, displayName, detect, ...functions } = openaiChat({
		name: 'chat',
		prefix: 'chat/',
		displayName: 'Your endpoint',
		baseURL: baseURL ?? 'http://127.0.0.1',
		apiKey,
		keyName: 'CHAT_API_KEY',
		needsKey: false,
		detect: (model) => model.startsWith('chat/') || names.has(model),
	});
	const about = { variant, displayName, detect };
	return baseURL === undefined ? { ...about, needs: 'CHAT_BASE_URL' } : { ...about, ...functions };
}

/** The models of Ollama. A deployed Worker has no Ollama on its own machine, so the address must be set. */
function localModels({ apiKey, baseURL }: Endpoint): ProviderRegistration {
	const { variant, displayName, detect, meta, ...functions } = ollama({ apiKey, baseURL });
	const about = { variant, displayName, detect, meta };
	return baseURL === undefined ? { ...about, needs: 'OLLAMA_BASE_URL' } : { ...about, ...functions };
}
