/** The providers that a person can connect on the page, and the requests for it to the proxy of `npm start`. */

import type { Http, SignalOption } from './http.ts';

export interface ModelProvider {
	/** How the variables begin: `NAME_API_KEY`, `NAME_BASE_URL`. */
	readonly name: string;
	readonly title: string;
	/** The usual address of the API. Missing if there is none. */
	readonly baseUrl?: string;
	readonly needsKey: boolean;
	/** What Runlet puts before the provider's own names of models. */
	readonly prefix?: string;
}

export const modelProviders: readonly [ModelProvider, ...ModelProvider[]] = [
	{ name: 'ANTHROPIC', title: 'Anthropic', baseUrl: 'https://api.anthropic.com', needsKey: true },
	{ name: 'OPENAI', title: 'OpenAI', baseUrl: 'https://api.openai.com/v1', needsKey: true },
	{ name: 'GEMINI', title: 'Google Gemini', baseUrl: 'https://generativelanguage.googleapis.com', needsKey: true },
	{ name: 'XAI', title: 'xAI', baseUrl: 'https://api.x.ai/v1', needsKey: true },
	{ name: 'GROQ', title: 'Groq', baseUrl: 'https://api.groq.com/openai/v1', needsKey: true, prefix: 'groq/' },
	{ name: 'DEEPSEEK', title: 'DeepSeek', baseUrl: 'https://api.deepseek.com/v1', needsKey: true, prefix: 'deepseek/' },
	{ name: 'MISTRAL', title: 'Mistral', baseUrl: 'https://api.mistral.ai/v1', needsKey: true, prefix: 'mistral/' },
	{ name: 'OLLAMA', title: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1', needsKey: false, prefix: 'ollama/' },
	{ name: 'CHAT', title: 'Another endpoint (Chat Completions)', needsKey: false, prefix: 'chat/' },
];

/** The path at the proxy of `npm start`. A deployed Worker has no such path. */
export const connectPath = '/v1/local/model';

/** What a person enters. An empty `baseUrl` is the provider's usual address. */
export interface ModelAccess {
	readonly provider: string;
	readonly key: string;
	readonly baseUrl: string;
}

export interface Connectable {
	/** The file that gets the variables, such as `.dev.vars`. */
	readonly file: string;
}

export type ConnectClient = ReturnType<typeof createConnectClient>;

/** Creates the requests that connect a model. They work only in the page of `npm start`, on the same machine. */
export function createConnectClient(http: Http) {
	return {
		/** Whether and where variables can be written. Throws `not_found` if the server is not one of `npm start`. */
		readConnectable: ({ signal }: SignalOption = {}): Promise<Connectable> => http.json(connectPath, { signal }),

		/** Asks the provider with the key, and returns the names of its models. Stores nothing. */
		async checkModelAccess(access: ModelAccess, { signal }: SignalOption = {}): Promise<readonly string[]> {
			const body = { method: 'POST', body: access, signal } as const;
			return (await http.json<{ readonly models: readonly string[] }>(connectPath, body)).models;
		},

		/** Writes the key, the address and the model to the file. The server then starts again with them. */
		connectModel(
			access: ModelAccess & { readonly model: string },
			{ signal }: SignalOption = {},
		): Promise<Connectable> {
			return http.json(connectPath, { method: 'PUT', body: access, signal });
		},
	};
}
