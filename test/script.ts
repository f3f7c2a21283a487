import type { ChatUsage, ProviderRegistration } from '../src/core/chat/index.ts';
import {
	anthropic,
	gemini,
	openai,
	type ScriptedProvider,
	type ScriptedTurn,
	scripted,
} from '../src/core/providers/index.ts';

let current: ScriptedProvider = scripted([]);

/** Sets the next answers of the model `scripted` in the Worker under test. Returns the provider with its `requests`. */
export function play(...turns: readonly ScriptedTurn[]): ScriptedProvider {
	current = scripted(turns);
	return current;
}

/** The vectors of the embedding model, and their usage. */
export const embedding: {
	fn: (texts: readonly string[]) => readonly (readonly number[])[];
	usage?: ChatUsage;
} = { fn: () => [] };

/** The provider of the Worker under test. It plays the current script. */
export const scriptedProvider: ProviderRegistration = {
	variant: 'scripted',
	displayName: 'Scripted',
	detect: (model) => model.startsWith('scripted'),
	// A thousand tokens cost a dollar. One of the models has no price.
	computePrice: (model, { inputTokens = 0, outputTokens = 0 }) =>
		model === 'scripted-unpriced' ? undefined : (inputTokens + outputTokens) / 1_000,
	embedFn: async (_, texts, options) => {
		if (embedding.usage !== undefined) options?.onUsage?.(embedding.usage);
		return embedding.fn(texts);
	},
	chatStreamFn: (...request) => current.chatStreamFn?.(...request),
};

/** Answers the requests of `realProviders`. */
export const network: {
	fetch: (body: Readonly<Record<string, unknown>>, url: string) => Response | Promise<Response>;
} = {
	fetch: () => new Response('not expected', { status: 500 }),
};

const overNetwork = {
	apiKey: 'key',
	fetch: async (input: unknown, init: RequestInit = {}) =>
		network.fetch(init.body == null ? {} : JSON.parse(`${init.body}`), String(input)),
};

/** Adapters of the Worker under test. `network` answers their requests. */
export const realProviders: readonly ProviderRegistration[] = [
	anthropic(overNetwork),
	openai(overNetwork),
	gemini(overNetwork),
];
