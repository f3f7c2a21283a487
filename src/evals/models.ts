import * as v from 'valibot';
import { createProviders } from '../cloudflare/config/models.ts';
import { readEndpoint, variables } from '../cloudflare/config/variables.ts';
import { check } from '../core/base/check.ts';
import { chat, type ProviderRegistration } from '../core/index.ts';

/** Variables, as `.dev.vars` has them. */
export type Variables = Readonly<Record<string, string | undefined>>;

const ofModels = v.pick(variables, ['MODEL', 'PRICES', 'CHAT_MODELS']);

/** Reads the models that variables configure, and the one of agents that name none. Throws `not_configured`. */
export function readModels(env: Variables): {
	readonly providers: readonly ProviderRegistration[];
	readonly defaultModel: string;
} {
	const { MODEL, PRICES, CHAT_MODELS } = check(ofModels, env, 'env', 'not_configured');
	const findEndpoint = (name: Parameters<typeof readEndpoint>[1]) => readEndpoint(env, name);
	const providers = createProviders({ findEndpoint, prices: PRICES, chatModels: CHAT_MODELS, ai: undefined });
	return { providers, defaultModel: MODEL };
}

/** Throws for the first model that cannot be asked. The error names the variable that is missing. */
export function assertModels(models: Iterable<string>, providers: readonly ProviderRegistration[]): void {
	for (const model of models) {
		const obstacle = chat.findObstacle({ model, providers });
		if (obstacle !== undefined) throw obstacle;
	}
}
