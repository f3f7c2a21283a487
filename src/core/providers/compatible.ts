import type { ProviderRegistration } from '../chat/index.ts';
import { roundEffort } from './adapter/body.ts';
import { checkSettings, type ProviderSettings } from './adapter/settings.ts';
import { type OpenAIChatSettings, openaiChat } from './openai-chat.ts';

/** Groq's models, as `groq/…`. */
export function groq(settings: ProviderSettings): ProviderRegistration {
	return connect(settings, {
		name: 'groq',
		displayName: 'Groq',
		baseURL: 'https://api.groq.com/openai/v1',
		keyName: 'GROQ_API_KEY',
		embeddings: false,
		quirks: {
			maxTokens: 'max_completion_tokens',
			// Only gpt-oss has this tool (console.groq.com/docs/browser-search).
			providerTools: { web_search: 'browser_search', code_execution: 'code_interpreter' },
			// console.groq.com/docs/service-tiers
			serviceTiers: { flex: 'flex', priority: 'performance' },
			systemInPlace: true,
			audio: false,
			pdf: false,
			// console.groq.com/docs/reasoning: other models refuse the field.
			effort: (effort, model) => {
				if (/gpt-oss/.test(model)) return { reasoning_effort: roundEffort(effort, ['low', 'medium', 'high']) };
				return /qwen/.test(model) ? { reasoning_effort: effort === 'none' ? 'none' : 'default' } : {};
			},
		},
	});
}

/** DeepSeek's models, as `deepseek/…`. They accept only text. */
export function deepseek(settings: ProviderSettings): ProviderRegistration {
	return connect(settings, {
		name: 'deepseek',
		displayName: 'DeepSeek',
		baseURL: 'https://api.deepseek.com/v1',
		keyName: 'DEEPSEEK_API_KEY',
		embeddings: false,
		quirks: {
			systemInPlace: true,
			images: false,
			audio: false,
			pdf: false,
			outputSchema: 'json_object',
			wantsReasoning: true,
			serviceTiers: {},
			// api-docs.deepseek.com/quick_start/rate_limit
			endUser: 'user_id',
			// api-docs.deepseek.com/guides/thinking_mode: the API accepts every word, and maps it to its own levels.
			effort: (effort) =>
				effort === 'none'
					? { thinking: { type: 'disabled' } }
					: { thinking: { type: 'enabled' }, reasoning_effort: effort },
		},
	});
}

/** Mistral's models, as `mistral/…`. */
export function mistral(settings: ProviderSettings): ProviderRegistration {
	return connect(settings, {
		name: 'mistral',
		displayName: 'Mistral',
		baseURL: 'https://api.mistral.ai/v1',
		keyName: 'MISTRAL_API_KEY',
		quirks: {
			audio: false,
			pdf: 'document_url',
			required: 'any',
			streamOptions: false,
			callIdLength: 9,
			// Mistral refuses unknown fields.
			serviceTiers: {},
			endUser: false,
			afterTool: 'OK',
			// Magistral always thinks. Of the other models, only the newer small and medium models can think.
			effort: (effort, model) =>
				/^mistral-(small|medium)/.test(model) ? { reasoning_effort: roundEffort(effort, ['none', 'high']) } : {},
		},
	});
}

/** Models of an Ollama server, as `ollama/…`, without a key. The default `baseURL` is `http://127.0.0.1:11434/v1`. */
export function ollama(settings: Partial<ProviderSettings> = {}): ProviderRegistration {
	return connect(settings, {
		name: 'ollama',
		displayName: 'Ollama',
		baseURL: 'http://127.0.0.1:11434/v1',
		quirks: {
			serviceTiers: {},
			endUser: false,
			audio: false,
			pdf: false,
			effort: (effort) => ({ reasoning_effort: roundEffort(effort, ['none', 'low', 'medium', 'high']) }),
		},
	});
}

function connect(settings: Partial<ProviderSettings>, own: Omit<OpenAIChatSettings, 'prefix'>): ProviderRegistration {
	checkSettings(own.name, settings);
	return openaiChat({ ...own, ...settings, baseURL: settings.baseURL ?? own.baseURL, prefix: `${own.name}/` });
}
