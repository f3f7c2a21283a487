/** DeepSeek's models. Run it: `DEEPSEEK_API_KEY=… npm run example deepseek`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { DEEPSEEK_API_KEY: apiKey, DEEPSEEK_BASE_URL: baseURL, MODEL: model = 'deepseek/deepseek-chat' } = process.env;

await show({ model, providers: [providers.deepseek({ apiKey, baseURL })] });
