/**
 * Any endpoint that speaks Chat Completions, here OpenRouter; yours is another `baseURL`, and a prefix of your choice.
 * Run it: `OPENROUTER_API_KEY=… npm run example compatible`.
 */
import { providers } from 'runlet';
import { show } from './show.ts';

const { OPENROUTER_API_KEY: apiKey, OPENROUTER_BASE_URL: baseURL = 'https://openrouter.ai/api/v1' } = process.env;
const { MODEL: model = 'openrouter/qwen/qwen3-max' } = process.env;

const openrouter = providers.openaiChat({
	name: 'openrouter',
	displayName: 'OpenRouter',
	prefix: 'openrouter/',
	keyName: 'OPENROUTER_API_KEY',
	baseURL,
	apiKey,
});

await show({ model, providers: [openrouter] });
