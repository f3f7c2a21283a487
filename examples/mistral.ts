/** Mistral's models. Run it: `MISTRAL_API_KEY=… npm run example mistral`. Another model: `MODEL=…`. */
import { providers } from 'runlet';
import { show } from './show.ts';

const {
	MISTRAL_API_KEY: apiKey,
	MISTRAL_BASE_URL: baseURL,
	MODEL: model = 'mistral/mistral-medium-latest',
} = process.env;

await show({ model, providers: [providers.mistral({ apiKey, baseURL })] });
