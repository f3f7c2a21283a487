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

/** A pause between two words of the demo model, so that a person sees them stream. */
const demoPace = { delayMs: 15 };

const made = new WeakMap<Config, readonly ProviderRegistration[]>();

/**
 * Who talks to which model in this Worker (docs/models.md). Those without their key are in the list too: they know
 * their models, and say which variable to set. Add yours: a line here, its variables in `config.ts`.
 */
export function createProviders(config: Config): readonly ProviderRegistration[] {
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

/** Gives prices of the environment to the providers that take some. */
export function withPrices(
	providers: readonly ProviderRegistration[],
	{ prices }: Pick<Config, 'prices'>,
): readonly ProviderRegistration[] {
	if (Object.keys(prices).length === 0) return providers;
	return providers.map((provider) => provider.withPrices?.(prices) ?? provider);
}

/** An endpoint of one's own that speaks Chat Completions, by the environment alone. */
function ownModels({ chatModels, findEndpoint }: Config): ProviderRegistration {
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

/** A deployed Worker has no Ollama beside it, so here it is named, or not there. */
function localModels({ apiKey, baseURL }: Endpoint): ProviderRegistration {
	const { variant, displayName, detect, meta, ...functions } = ollama({ apiKey, baseURL });
	const about = { variant, displayName, detect, meta };
	return baseURL === undefined ? { ...about, needs: 'OLLAMA_BASE_URL' } : { ...about, ...functions };
}
