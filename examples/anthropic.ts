/** Claude, by Anthropic's Messages API. Run it: `ANTHROPIC_API_KEY=… npm run example anthropic`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL, MODEL: model = 'claude-sonnet-4-6' } = process.env;

await show({ model, providers: [providers.anthropic({ apiKey, baseURL })] });
