/** A model on your own machine. Run it: `ollama pull qwen3 && OLLAMA_BASE_URL=http://127.0.0.1:11434/v1 npm run example ollama`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const { OLLAMA_BASE_URL: baseURL, MODEL: model = 'ollama/qwen3' } = process.env;

await show({ model, providers: [providers.ollama({ baseURL })] });
