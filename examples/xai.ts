/** Grok, by xAI's Responses API. Run it: `XAI_API_KEY=… npm run example xai`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { XAI_API_KEY: apiKey, XAI_BASE_URL: baseURL, MODEL: model = 'grok-4.3' } = process.env;

await show({ model, providers: [providers.xai({ apiKey, baseURL })] });
