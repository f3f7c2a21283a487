/** Open models on Groq. Run it: `GROQ_API_KEY=… npm run example groq`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { GROQ_API_KEY: apiKey, GROQ_BASE_URL: baseURL, MODEL: model = 'groq/openai/gpt-oss-120b' } = process.env;

await show({ model, providers: [providers.groq({ apiKey, baseURL })] });
