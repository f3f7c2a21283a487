/** Gemini, by Google's own API. Run it: `GEMINI_API_KEY=… npm run example gemini`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { GEMINI_API_KEY: apiKey, GEMINI_BASE_URL: baseURL, MODEL: model = 'gemini-3-flash-preview' } = process.env;

await show({ model, providers: [providers.gemini({ apiKey, baseURL })] });
