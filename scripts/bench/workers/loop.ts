/** Runlet's loop, the library, in a plain Worker. */
import { chat, providers } from '../../../src/core/index.ts';
import { look, model } from './tool.ts';

let anthropic: ReturnType<typeof providers.anthropic> | undefined;

export default {
	fetch: async (request: Request, env: { readonly MODEL_URL: string }): Promise<Response> => {
		anthropic ??= providers.anthropic({ apiKey: 'bench', baseURL: env.MODEL_URL });
		const options = { model, providers: [anthropic], tools: [look] };
		const run = chat.run(options, [chat.userMessage(await request.text())]);
		return new Response(run.toStream(), { headers: { 'content-type': 'text/event-stream' } });
	},
};
