/** OpenAI's models, by the Responses API. Run it: `OPENAI_API_KEY=… npm run example openai`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, MODEL: model = 'gpt-5.4' } = process.env;

await show({ model, providers: [providers.openai({ apiKey, baseURL })] });
