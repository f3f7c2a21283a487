/**
 * Models on Workers AI. In a Worker the binding is `env.AI`; here, outside of one, it is the same API over HTTPS.
 * Run it: `CLOUDFLARE_ACCOUNT_ID=… CLOUDFLARE_API_TOKEN=… npm run example workers-ai`.
 */
import { providers } from 'runlet';
import { show } from './show.ts';

const { CLOUDFLARE_ACCOUNT_ID: account, CLOUDFLARE_API_TOKEN: token } = process.env;
const { CLOUDFLARE_BASE_URL: base = 'https://api.cloudflare.com/client/v4' } = process.env;
const { MODEL: model = 'workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast' } = process.env;

const overHttps = {
	run: async (name: string, inputs: object): Promise<unknown> => {
		const response = await fetch(`${base}/accounts/${account}/ai/run/${name}`, {
			method: 'POST',
			headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
			body: JSON.stringify(inputs),
		});
		if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response.body;
		const { result, errors }: { result?: unknown; errors?: { code: number; message: string }[] } =
			await response.json();
		if (response.ok) return result;
		throw new Error(
			errors?.map(({ code, message }) => `${code}: ${message}`).join(', ') ?? `status ${response.status}`,
		);
	},
};
if (account === undefined || token === undefined) {
	console.error('Workers AI is not configured: set CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.');
	process.exitCode = 1;
} else {
	await show({ model, providers: [providers.workersAi({ binding: overHttps })] });
}
